// Tests that docs/design/wire.md shows the bytes that are actually sent.
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/bus/envelope.h"
#include "libs/protocol/common_messages.h"
#include "libs/protocol/worker/worker_messages.h"

namespace weft::protocol {
namespace {

using ::testing::ElementsAre;

// Returns the hexadecimal part of "    0010  2a 00 ...    comment"; empty: it
// is not such a line.
std::string HexOf(absl::string_view line) {
  if (!absl::ConsumePrefix(&line, "    ")) return "";
  for (int i = 0; i < 4; ++i) {
    if (line.empty() || !absl::ascii_isxdigit(line[0])) return "";
    line.remove_prefix(1);
  }
  if (!absl::ConsumePrefix(&line, "  ")) return "";
  return absl::StrReplaceAll(line.substr(0, line.find("  ")), {{" ", ""}});
}

// Returns the frames on the page as hexadecimal digits: one for each run of
// lines.
std::vector<std::string> FramesOfPage() {
  std::ifstream page("docs/design/wire.md");
  std::vector<std::string> frames;
  bool in_frame = false;
  for (std::string line; std::getline(page, line);) {
    const std::string hex = HexOf(line);
    if (!hex.empty() && !in_frame) frames.emplace_back();
    if (!hex.empty()) frames.back() += hex;
    in_frame = !hex.empty();
  }
  return frames;
}

std::string Hex(const bus::Blob& frame) {
  return absl::BytesToHexString(absl::string_view(
      reinterpret_cast<const char*>(frame.data()), frame.size()));
}

TEST(WirePageTest, DocumentedBytesMatchTheWire) {
  const bus::Message request =
      WriteDeleteWorkerSession({.master_incarnation = 11, .session = 42});
  const bus::Message reply = WriteDone();
  bus::Envelope asks;
  asks.kind = bus::MessageKind::kRequest;
  asks.method = request.method;
  asks.call_id = 7;
  asks.time_remaining_us = 5'000'000;
  bus::Envelope answers;
  answers.kind = bus::MessageKind::kReply;
  answers.method = reply.method;
  answers.call_id = 7;
  EXPECT_THAT(FramesOfPage(),
              ElementsAre(Hex(bus::EncodeEnvelope(asks)), Hex(request.body),
                          Hex(bus::EncodeEnvelope(answers)), Hex(reply.body)));
}

}  // namespace
}  // namespace weft::protocol
