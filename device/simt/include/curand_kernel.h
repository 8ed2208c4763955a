#error "retile: the CPU device does not run curand_kernel.h"
