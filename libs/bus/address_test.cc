#include "libs/bus/address.h"

#include <string>

#include "libs/base/test_matchers.h"

namespace weft::bus {
namespace {

using absl::StatusCode;

TEST(AddressTest, ParsesBothForms) {
  for (const char* text :
       {"ps0.example.com:2222", "zmq://ps0.example.com:2222"}) {
    ASSERT_OK_AND_ASSIGN(const Address address, Address::Parse(text));
    EXPECT_EQ(address.host, "ps0.example.com");
    EXPECT_EQ(address.port, 2222);
    EXPECT_EQ(address.ToString(), "ps0.example.com:2222");
    EXPECT_EQ(address.ToTarget(), "zmq://ps0.example.com:2222");
  }
}

TEST(AddressTest, Ipv6AddressesNeedBrackets) {
  ASSERT_OK_AND_ASSIGN(const Address address, Address::Parse("zmq://[::1]:80"));
  EXPECT_EQ(address.host, "::1");
  EXPECT_EQ(address.ToString(), "[::1]:80");
  EXPECT_EQ(Address::Parse(address.ToTarget()).value(), address);
}

TEST(AddressTest, PortZeroIsAnyPort) {
  ASSERT_OK_AND_ASSIGN(const Address address, Address::Parse("127.0.0.1:0"));
  EXPECT_EQ(address.port, 0);
}

TEST(AddressTest, MalformedAddressErrorsNameTheDefect) {
  const struct {
    std::string text;
    const char* what;
  } kCases[] = {
      {"", "no \":port\""},
      {"host", "no \":port\""},
      {"zmq://", "no \":port\""},
      {":80", "the host is missing"},
      {"[]:80", "the host is missing"},
      {"host:", "not a number from 0 to 65535"},
      {"host:65536", "not a number from 0 to 65535"},
      {"host:-1", "not a number from 0 to 65535"},
      {"host:80x", "not a number from 0 to 65535"},
      {"host: 80", "not a number from 0 to 65535"},
      {"::1:80", "the host is missing"},
      {"[::1]", "no \":port\""},
      {"[::1", "no \":port\""},
      {"[::1]80", "no \":port\""},
      {"[host]:80", "only an IPv6 address"},
      {"ho st:80", "an invalid character"},
      {"grpc://host:80", "the scheme grpc:// is unknown"},
      {"ZMQ://host:80", "the scheme ZMQ:// is unknown"},
      {"://host:80", "the scheme :// is unknown"},
      {"zmq://zmq://host:80", "not a number from 0 to 65535"},
      {std::string("h\0st:80", 7), "an invalid character"},
      {std::string(300, 'a') + ":80", "too long"},
  };
  for (const auto& test : kCases) {
    EXPECT_THAT(Address::Parse(test.text),
                StatusIs(StatusCode::kInvalidArgument, test.what))
        << test.text;
  }
}

}  // namespace
}  // namespace weft::bus
