#include "libs/gradients/registry/gradient_registry.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace weft {

void GradientRegistry::Register(absl::string_view op, GradientFn fn,
                                bool takes_sparse) {
  if (entries_.emplace(op, Entry{std::move(fn), takes_sparse}).second) return;
  // Two derivatives of one op are a bug in Weft.
  std::fprintf(stderr, "the gradient of op '%.*s' is registered twice\n",
               static_cast<int>(op.size()), op.data());
  std::abort();
}

void GradientRegistry::RegisterNone(absl::string_view op) {
  Register(op, nullptr);
}

const GradientRegistry::Entry* GradientRegistry::Find(
    absl::string_view op) const {
  auto it = entries_.find(op);
  return it == entries_.end() ? nullptr : &it->second;
}

}  // namespace weft
