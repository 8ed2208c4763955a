#error "retile: the CPU device does not run cooperative_groups.h"
