#include "libs/bus/handshake.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/bus/envelope.h"
#include "libs/bus/flat_blob_inl.h"
#include "schemas/body_generated.h"

namespace weft::bus {
namespace {

using flatbuffers::Offset;

static_assert(kHelloMethod == static_cast<int>(schemas::Body::Hello));
static_assert(kHelloReplyMethod == static_cast<int>(schemas::Body::HelloReply));
static_assert(kHeartbeatMethod == static_cast<int>(schemas::Body::Heartbeat));
static_assert(kCreditMethod == static_cast<int>(schemas::Body::Credit));
static_assert(kGoodbyeMethod == static_cast<int>(schemas::Body::Goodbye));

// The maximum length of a name; a longer name is invalid.
constexpr size_t kMaxName = 1024;
// The maximum credit. A larger one would only make sums overflow.
constexpr uint64_t kMaxCredit = uint64_t{1} << 40;

constexpr absl::string_view kReplica = "/replica:0";

std::string NameOf(absl::string_view job, int index) {
  return absl::StrCat("/job:", job, kReplica, "/task:", index);
}

// "/job:ps/replica:0/task:0" becomes its job and index; any other name is a job
// with the index -1.
Offset<schemas::Task> PackTask(flatbuffers::FlatBufferBuilder& builder,
                               absl::string_view name) {
  if (name.empty()) return 0;
  absl::string_view job = name;
  int index = -1;
  const size_t split = name.rfind("/task:");
  if (absl::ConsumePrefix(&job, "/job:") && split != absl::string_view::npos &&
      absl::SimpleAtoi(name.substr(split + 6), &index) && index >= 0) {
    job = name.substr(5, split - 5);
    absl::ConsumeSuffix(&job, kReplica);
  }
  // Splits only names that the other end restores exactly.
  if (index < 0 || name != NameOf(job, index)) {
    job = name;
    index = -1;
  }
  return schemas::CreateTask(
      builder, builder.CreateString(job.data(), job.size()), index);
}

absl::Status UnpackName(const flatbuffers::String* text, std::string* name) {
  if (text == nullptr) return absl::OkStatus();
  if (text->size() > kMaxName) return BadMessage("a name that is too long");
  *name = text->str();
  return absl::OkStatus();
}

absl::Status UnpackTask(const schemas::Task* task, std::string* name) {
  if (task == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(UnpackName(task->job(), name));
  if (task->index() >= 0) {
    *name = NameOf(*name, task->index());
  }
  return absl::OkStatus();
}

Offset<flatbuffers::String> PackName(flatbuffers::FlatBufferBuilder& builder,
                                     const std::string& name) {
  if (name.empty()) return 0;
  return builder.CreateString(name);
}

Blob FinishBody(SmallBuilder& builder, schemas::Body type, Offset<void> body) {
  schemas::FinishMessageBuffer(*builder,
                               schemas::CreateMessage(*builder, type, body));
  return builder.ToBlob();
}

// Returns null if the bytes are another type of message.
template <typename Table>
const Table* BodyOf(const Blob& aligned) {
  const auto* message =
      VerifiedRoot<schemas::Message>(aligned, schemas::MessageIdentifier());
  return message == nullptr ? nullptr : message->body_as<Table>();
}

absl::Status NoCommonVersion(const std::string& speaker, uint32_t oldest,
                             uint32_t newest, const std::string& other,
                             uint32_t other_oldest, uint32_t other_newest) {
  const auto named = [](const std::string& task) {
    return task.empty() ? "a client" : task;
  };
  return absl::UnimplementedError(absl::StrCat(
      "No common version of the protocol: ", named(speaker), " speaks ", oldest,
      " to ", newest, ", ", named(other), " ", other_oldest, " to ",
      other_newest, "; run the same release everywhere"));
}

// Returns the cluster of an end, as far as it is known now.
std::string ClusterOf(const Identity& identity) {
  return identity.learned_uuid == nullptr ? identity.cluster_uuid
                                          : identity.learned_uuid->Get();
}

// Checks that apply to both ends.
absl::Status CheckIdentities(const Identity& self, const Identity& other,
                             const std::string& destination) {
  const std::string own = ClusterOf(self);
  const std::string others = ClusterOf(other);
  if (!own.empty() && !others.empty() && own != others) {
    return absl::FailedPreconditionError(absl::StrCat(
        self.task, " belongs to another cluster than ",
        other.task.empty() ? "a client" : other.task, ": ", own, " is not ",
        others, "; compare the addresses in their cluster specs"));
  }
  if (!destination.empty() && destination != self.task) {
    return absl::FailedPreconditionError(
        absl::StrCat(destination, " is not here; this is ", self.task,
                     ": compare the addresses in the cluster specs"));
  }
  return absl::OkStatus();
}

}  // namespace

Blob EncodeHello(const Hello& hello) {
  SmallBuilder builder;
  const auto uuid = PackName(*builder, ClusterOf(hello.self));
  const auto task = PackTask(*builder, hello.self.task);
  const auto destination = PackTask(*builder, hello.destination);
  const auto body = schemas::CreateHello(
      *builder, hello.newest_version, hello.oldest_version, uuid, task,
      destination, hello.self.incarnation, hello.self.op_fingerprint);
  return FinishBody(builder, schemas::Body::Hello, body.Union());
}

absl::StatusOr<Hello> DecodeHello(const Blob& body) {
  const Blob aligned = Aligned(body);
  const auto* packed = BodyOf<schemas::Hello>(aligned);
  if (packed == nullptr) return BadMessage("the HELLO is damaged");
  Hello hello;
  hello.newest_version = packed->protocol_version();
  hello.oldest_version = packed->oldest_protocol_version();
  hello.self.incarnation = packed->incarnation();
  hello.self.op_fingerprint = packed->op_fingerprint();
  RETURN_IF_ERROR(UnpackName(packed->cluster_uuid(), &hello.self.cluster_uuid));
  RETURN_IF_ERROR(UnpackTask(packed->task(), &hello.self.task));
  RETURN_IF_ERROR(UnpackTask(packed->destination(), &hello.destination));
  if (hello.self.incarnation == 0)
    return BadMessage("a HELLO without incarnation");
  if (hello.oldest_version > hello.newest_version) {
    return BadMessage("a HELLO whose oldest version is newer than its newest");
  }
  return hello;
}

Blob EncodeHelloReply(const HelloReply& reply) {
  SmallBuilder builder;
  const auto uuid = PackName(*builder, ClusterOf(reply.self));
  const auto task = PackTask(*builder, reply.self.task);
  const auto body = schemas::CreateHelloReply(
      *builder, reply.version, uuid, task, reply.self.incarnation,
      reply.bulk_port, reply.max_control_bytes, reply.credit_bytes,
      reply.bulk_token);
  return FinishBody(builder, schemas::Body::HelloReply, body.Union());
}

absl::StatusOr<HelloReply> DecodeHelloReply(const Blob& body) {
  const Blob aligned = Aligned(body);
  const auto* packed = BodyOf<schemas::HelloReply>(aligned);
  if (packed == nullptr) return BadMessage("the answer to HELLO is damaged");
  HelloReply reply;
  reply.version = packed->protocol_version();
  reply.self.incarnation = packed->incarnation();
  reply.bulk_port = packed->bulk_port();
  reply.max_control_bytes = packed->max_control_bytes();
  reply.credit_bytes = packed->credit_bytes();
  reply.bulk_token = packed->bulk_token();
  RETURN_IF_ERROR(UnpackName(packed->cluster_uuid(), &reply.self.cluster_uuid));
  RETURN_IF_ERROR(UnpackTask(packed->task(), &reply.self.task));
  if (reply.self.incarnation == 0 || reply.bulk_port == 0 ||
      reply.max_control_bytes == 0 || reply.bulk_token == 0 ||
      reply.credit_bytes == 0 || reply.credit_bytes > kMaxCredit) {
    return BadMessage("an answer to HELLO that is not complete");
  }
  return reply;
}

Blob EncodeHeartbeat(const HeartbeatBody& heartbeat) {
  SmallBuilder builder;
  const auto body = schemas::CreateHeartbeat(
      *builder, heartbeat.sequence, heartbeat.answers, heartbeat.busy_us);
  return FinishBody(builder, schemas::Body::Heartbeat, body.Union());
}

absl::StatusOr<HeartbeatBody> DecodeHeartbeat(const Blob& body) {
  const Blob aligned = Aligned(body);
  const auto* packed = BodyOf<schemas::Heartbeat>(aligned);
  if (packed == nullptr) return BadMessage("the heartbeat is damaged");
  return HeartbeatBody{packed->sequence(), packed->answers(),
                       packed->busy_us()};
}

Blob EncodeCredit(uint64_t bytes) {
  SmallBuilder builder;
  const auto body = schemas::CreateCredit(*builder, bytes);
  return FinishBody(builder, schemas::Body::Credit, body.Union());
}

absl::StatusOr<uint64_t> DecodeCredit(const Blob& body) {
  const Blob aligned = Aligned(body);
  const auto* packed = BodyOf<schemas::Credit>(aligned);
  if (packed == nullptr) return BadMessage("the credit is damaged");
  return packed->bytes();
}

Blob EncodeGoodbye(const absl::Status& why) {
  SmallBuilder builder;
  const auto error = PackError(*builder, why);
  const auto body = schemas::CreateGoodbye(*builder, error);
  return FinishBody(builder, schemas::Body::Goodbye, body.Union());
}

absl::Status DecodeGoodbye(const Blob& body, absl::Status* why) {
  const Blob aligned = Aligned(body);
  const auto* packed = BodyOf<schemas::Goodbye>(aligned);
  if (packed == nullptr) return BadMessage("the goodbye is damaged");
  *why = packed->why() == nullptr
             ? absl::UnavailableError("The other end said goodbye")
             : UnpackError(*packed->why());
  return absl::OkStatus();
}

absl::Status CheckHello(const Identity& self, const Hello& hello) {
  if (hello.newest_version < kOldestVersion ||
      hello.oldest_version > kNewestVersion) {
    return NoCommonVersion(self.task, kOldestVersion, kNewestVersion,
                           hello.self.task, hello.oldest_version,
                           hello.newest_version);
  }
  return CheckIdentities(self, hello.self, hello.destination);
}

absl::Status CheckHelloReply(const Identity& self,
                             const std::string& destination,
                             const HelloReply& reply) {
  if (reply.version < kOldestVersion || reply.version > kNewestVersion) {
    return NoCommonVersion(self.task, kOldestVersion, kNewestVersion,
                           reply.self.task, reply.version, reply.version);
  }
  return CheckIdentities(reply.self, self, destination);
}

}  // namespace weft::bus
