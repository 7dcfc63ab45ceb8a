// CUDA's stream type, for headers that need nothing else of CUDA.
#ifndef WEFT_LIBS_DEVICE_CUDA_CUDA_TYPES_H_
#define WEFT_LIBS_DEVICE_CUDA_CUDA_TYPES_H_

struct CUstream_st;
typedef struct CUstream_st* cudaStream_t;

#endif  // WEFT_LIBS_DEVICE_CUDA_CUDA_TYPES_H_
