#error "retile: the CPU device does not run mma.h"
