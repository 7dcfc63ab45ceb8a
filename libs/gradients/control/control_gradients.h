// Parts of the control family of gradients outside control_gradients.cc.
// Internal to this folder.
#ifndef WEFT_LIBS_GRADIENTS_CONTROL_CONTROL_GRADIENTS_H_
#define WEFT_LIBS_GRADIENTS_CONTROL_CONTROL_GRADIENTS_H_

namespace weft {

class GradientRegistry;

// In list_gradients.cc.
void RegisterListGradients(GradientRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_CONTROL_CONTROL_GRADIENTS_H_
