// Registration of the summary kernels; groups are in files of their names
// (NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_SUMMARY_SUMMARY_KERNELS_H_
#define WEFT_LIBS_KERNELS_SUMMARY_SUMMARY_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// Registers all summary kernels.
void RegisterSummaryKernels(KernelRegistry& registry);

// Audio: AudioSummary, AudioSummaryV2.
void RegisterAudioSummaryKernels(KernelRegistry& registry);
// Images: ImageSummary.
void RegisterImageSummaryKernels(KernelRegistry& registry);
// Numbers: ScalarSummary, HistogramSummary.
void RegisterNumberSummaryKernels(KernelRegistry& registry);
// Tensors, and merged summaries: TensorSummary, TensorSummaryV2, MergeSummary.
void RegisterTensorSummaryKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_SUMMARY_SUMMARY_KERNELS_H_
