// The toolkit's half, bfloat16 and fp8 headers, by the absolute paths that the backend found, as a host
// compiler sees them.
#pragma once

#if defined(RETILE_SIMT_FP16)
#include RETILE_SIMT_FP16
#endif
#if defined(RETILE_SIMT_BF16)
#include RETILE_SIMT_BF16
#endif
#if defined(RETILE_SIMT_FP8)
#include RETILE_SIMT_FP8
#endif
#include RETILE_SIMT_VECTOR_FUNCTIONS
