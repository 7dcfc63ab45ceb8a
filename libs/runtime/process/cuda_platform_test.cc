// Tests that the registrations of GPU kernels are consistent, which needs no
// GPU. At most one kernel matches each node, the arguments that kernels want in
// host memory belong to the op, and each op with a GPU kernel has a CPU kernel
// of the same types to compare with.
#include "libs/runtime/process/cuda_platform.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/kernels/cuda/cuda_kernels.h"
#include "libs/kernels/gpu_restriction.h"
#include "libs/kernels/standard/standard_kernels.h"
#include "libs/kernels/testing/fake_device_kernels.h"
#include "libs/ops/standard_ops.h"
#include "libs/runtime/process/receive_allocator.h"

namespace weft {
namespace {

using Types = std::vector<DataType>;

bool AreDisjoint(const Types& a, const Types& b) {
  return std::none_of(a.begin(), a.end(), [&](DataType type) {
    return std::find(b.begin(), b.end(), type) != b.end();
  });
}

// Returns whether no node matches both kernels, because some attr has no type
// in common.
bool AreDisjoint(const KernelDef& a, const KernelDef& b) {
  return std::any_of(a.types.begin(), a.types.end(), [&](const auto& entry) {
    const auto other = b.types.find(entry.first);
    return other != b.types.end() && AreDisjoint(entry.second, other->second);
  });
}

class CudaPlatformTest : public testing::Test {
 protected:
  CudaPlatformTest() {
    RegisterStandardKernels(registry_);
    CudaPlatform().RegisterKernels(registry_);
    for (const KernelDef* def : registry_.List()) {
      by_op_[def->op][def->device_type].push_back(def);
    }
  }

  KernelRegistry registry_;
  // Maps each op to a map from device type to kernels.
  std::map<std::string, std::map<std::string, std::vector<const KernelDef*>>>
      by_op_;
};

TEST_F(CudaPlatformTest, NoNodeHasTwoKernels) {
  for (const auto& [op, by_device] : by_op_) {
    const auto found = by_device.find("GPU");
    if (found == by_device.end()) continue;
    const auto& defs = found->second;
    for (size_t i = 0; i < defs.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        EXPECT_TRUE(AreDisjoint(*defs[i], *defs[j])) << op;
      }
    }
  }
}

TEST_F(CudaPlatformTest, HostMemoryArgumentsExistInTheOp) {
  const auto ops = StandardOps();
  for (const KernelDef* def : registry_.List()) {
    const OpDef* op = ops->Find(def->op);
    ASSERT_NE(op, nullptr) << def->op;
    for (const std::string& name : def->host_memory) {
      if (name == "*") continue;
      const auto is_it = [&](const ArgDef& arg) { return arg.name == name; };
      EXPECT_TRUE(std::any_of(op->inputs.begin(), op->inputs.end(), is_it) ||
                  std::any_of(op->outputs.begin(), op->outputs.end(), is_it))
          << def->op << " has no argument " << name;
    }
  }
}

TEST_F(CudaPlatformTest, EachGpuKernelHasACpuKernel) {
  for (const auto& [op, by_device] : by_op_) {
    const auto found = by_device.find("GPU");
    if (found == by_device.end()) continue;
    ASSERT_TRUE(by_device.contains("CPU")) << op;
    for (const KernelDef* def : found->second) {
      for (const auto& [attr, types] : def->types) {
        for (const DataType type : types) {
          EXPECT_TRUE(std::any_of(by_device.at("CPU").begin(),
                                  by_device.at("CPU").end(),
                                  [&, &name = attr](const KernelDef* cpu) {
                                    const auto own = cpu->types.find(name);
                                    return own == cpu->types.end() ||
                                           !AreDisjoint(own->second, {type});
                                  }))
              << op << " of " << attr << " " << DataTypeName(type);
        }
      }
    }
  }
}

// Returns the type constraints of an op: for each attr, all types that any of
// the kernels supports.
GpuRestriction::Constraints InAll(const std::vector<const KernelDef*>& defs) {
  GpuRestriction::Constraints result = defs[0]->types;
  for (const KernelDef* def : defs) {
    std::erase_if(result, [&](const auto& entry) {
      return !def->types.contains(entry.first);
    });
    for (auto& [attr, types] : result) {
      const Types& more = def->types.at(attr);
      types.insert(types.end(), more.begin(), more.end());
    }
  }
  for (auto& [attr, types] : result) {
    std::sort(types.begin(), types.end());
    types.erase(std::unique(types.begin(), types.end()), types.end());
  }
  return result;
}

// Formats the kernels like the table in cuda_kernel_types.cc.
std::string TableOf(
    const std::map<std::string, GpuRestriction::Constraints>& kernels) {
  std::map<std::pair<std::string, std::string>, std::string> lines;
  for (const auto& [op, constraints] : kernels) {
    if (constraints.empty()) absl::StrAppend(&lines[{}], " ", op);
    for (const auto& [attr, types] : constraints) {
      const std::string names =
          absl::StrJoin(types, " ", [](std::string* out, DataType type) {
            absl::StrAppend(out, DataTypeName(type));
          });
      absl::StrAppend(&lines[{attr, names}], " ", op);
    }
  }
  std::string text;
  for (const auto& [types, ops] : lines) {
    absl::StrAppend(&text, "    {\"", types.first, "\", \"", types.second,
                    "\", \"", ops.substr(1), "\"},\n");
  }
  return text;
}

// Returns whether this build has code for CUDA GPUs.
bool WasBuilt() {
  KernelRegistry registry;
  RegisterCudaKernels(registry);
  return !registry.List().empty();
}

// Host GPUs and fake devices do not have the kernels; they use the list in
// cuda_kernel_types.cc, which must therefore match.
TEST(CudaKernelsTest, MatchTheListedKernels) {
  if (!WasBuilt()) return;
  KernelRegistry registry;
  RegisterCudaKernels(registry);
  std::map<std::string, std::vector<const KernelDef*>> defs;
  for (const KernelDef* def : registry.List()) defs[def->op].push_back(def);
  std::map<std::string, GpuRestriction::Constraints> own, written;
  for (const auto& [op, of_op] : defs) own[op] = InAll(of_op);
  const GpuRestriction cuda = GpuRestriction::OfCuda();
  for (auto [op, constraints] : cuda.by_op()) {
    for (auto& [attr, types] : constraints) {
      std::sort(types.begin(), types.end());
    }
    written[op] = std::move(constraints);
  }
  EXPECT_EQ(own, written) << "libs/kernels/cuda_kernel_types.cc lists others; "
                             "these are\n"
                          << TableOf(own);
}

// A plan that was made with fake devices, on a machine without CUDA GPUs, must
// also be valid on CUDA GPUs.
TEST_F(CudaPlatformTest, FakeDevicesSupportTheSameTypes) {
  if (!WasBuilt()) return;
  KernelRegistry played;
  RegisterStandardKernels(played);
  RegisterFakeDeviceKernels(played);
  std::map<std::string, GpuRestriction::Constraints> own, other;
  for (const auto& [op, by_device] : by_op_) {
    const auto found = by_device.find("GPU");
    if (found != by_device.end()) own[op] = InAll(found->second);
  }
  std::map<std::string, std::vector<const KernelDef*>> defs;
  for (const KernelDef* def : played.List()) {
    if (def->device_type == "GPU") defs[def->op].push_back(def);
  }
  for (const auto& [op, of_op] : defs) other[op] = InAll(of_op);
  for (const auto& [op, constraints] : own) {
    EXPECT_TRUE(other.contains(op)) << op;
    for (const auto& [attr, types] : constraints) {
      const auto found = other[op].find(attr);
      if (found == other[op].end()) continue;
      EXPECT_EQ(found->second, types) << op << " " << attr;
    }
    other.erase(op);
  }
  for (const auto& [op, constraints] : other) ADD_FAILURE() << op;
}

TEST_F(CudaPlatformTest, RequestForNoDevicesSucceeds) {
  SystemClock clock;
  const auto random = NewSeededRandom(1);
  const auto scheduler = NewThreadScheduler(clock, {.compute_threads = 1});
  const auto devices = CudaPlatform().NewDevices(
      "/job:localhost/replica:0/task:0", 0, *scheduler, *random);
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_TRUE(devices->empty());
}

// An allocator that provides a limited number of pinned buffers.
class FewBuffers : public Allocator {
 public:
  explicit FewBuffers(int count) : left_(count) {}
  BufferPtr Allocate(size_t bytes) override {
    return left_-- > 0 ? HeapAllocator().Allocate(bytes) : BufferPtr();
  }
  int left() const { return left_; }

 private:
  int left_;
};

TEST(ReceiveAllocatorTest, UsesPinnedMemoryWhileAvailable) {
  ReceiveAllocator allocator(HeapAllocator());
  EXPECT_TRUE(allocator.Allocate(ReceiveAllocator::kLeastPinned));
  auto few = std::make_unique<FewBuffers>(1);
  const FewBuffers& pinned = *few;
  allocator.UsePinned(std::move(few));
  EXPECT_TRUE(allocator.Allocate(ReceiveAllocator::kLeastPinned - 1));
  EXPECT_EQ(pinned.left(), 1);
  EXPECT_TRUE(allocator.Allocate(ReceiveAllocator::kLeastPinned));
  EXPECT_EQ(pinned.left(), 0);
  EXPECT_TRUE(allocator.Allocate(ReceiveAllocator::kLeastPinned));
  EXPECT_LT(pinned.left(), 0);  // an allocation was tried and failed
}

TEST_F(CudaPlatformTest, TooManyDevicesAreRefused) {
  SystemClock clock;
  const auto random = NewSeededRandom(1);
  const auto scheduler = NewThreadScheduler(clock, {.compute_threads = 1});
  const auto devices = CudaPlatform().NewDevices(
      "/job:localhost/replica:0/task:0", 1000, *scheduler, *random);
  ASSERT_FALSE(devices.ok());
  EXPECT_FALSE(devices.status().message().empty());
}

}  // namespace
}  // namespace weft
