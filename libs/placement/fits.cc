#include "libs/placement/fits.h"

#include <algorithm>

namespace weft {

bool Fit::Has(const Candidate& device) const {
  return request.IsSpecificationOf(device.parts) &&
         std::binary_search(types->begin(), types->end(), device.type);
}

const Fit& Fits::Find(int request_number, const GroupRequest& request,
                      int types_number, const DeviceTypes& types) {
  std::unique_ptr<Fit>& fit = fits_[{request_number, types_number}];
  if (fit == nullptr) fit = std::make_unique<Fit>(Seek(request, types));
  return *fit;
}

Fit Fits::Seek(const GroupRequest& request, const DeviceTypes& types) const {
  Fit fit{.request = request.requested(), .types = &types};
  fit.devices = candidates_.Matching(fit.request, types);
  if (!soft_placement_) return fit;
  for (DeviceName softer :
       {request.WithoutTypeButOfState(), request.WithoutType()}) {
    if (!fit.devices.empty()) break;
    fit.is_softened = true;
    fit.request = std::move(softer);
    fit.devices = candidates_.Matching(fit.request, types);
  }
  return fit;
}

}  // namespace weft
