// Everything that device code needs of this header is in simt.h, which comes first.
#if !defined(RETILE_SIMT_READY)
#include_next <cuda_runtime.h>
#endif
