#error "retile: the CPU device does not run cuda_pipeline_primitives.h"
