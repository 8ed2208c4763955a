#error "retile: the CPU device does not run texture_fetch_functions.h"
