#error "retile: the CPU device does not run cuda_awbarrier.h"
