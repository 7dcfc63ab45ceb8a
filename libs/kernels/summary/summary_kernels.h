// The summary family of kernels, each function in the file of its name
// (NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_SUMMARY_SUMMARY_KERNELS_H_
#define WEFT_LIBS_KERNELS_SUMMARY_SUMMARY_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// All of them.
void RegisterSummaryKernels(KernelRegistry& registry);

// Sounds: AudioSummary, AudioSummaryV2.
void RegisterAudioSummaryKernels(KernelRegistry& registry);
// Pictures: ImageSummary.
void RegisterImageSummaryKernels(KernelRegistry& registry);
// Numbers: ScalarSummary, HistogramSummary.
void RegisterNumberSummaryKernels(KernelRegistry& registry);
// Tensors as they are, and summaries of summaries: TensorSummary,
// TensorSummaryV2, MergeSummary.
void RegisterTensorSummaryKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_SUMMARY_SUMMARY_KERNELS_H_
