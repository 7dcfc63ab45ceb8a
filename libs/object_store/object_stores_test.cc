// Tests that the service for a path is selected by the environment, with moto's
// server.
#include "libs/object_store/object_stores.h"

#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/status.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"
#include "libs/object_store/aws_credentials.h"
#include "libs/object_store/testing/object_server.h"

namespace weft {
namespace {

TEST(ParseProfilesTest, ReadsSectionsCommentsAndProfiles) {
  Profiles profiles = ParseProfiles(
      "[default]\n aws_access_key_id = a \n# note\n\n"
      "[profile other]\naws_access_key_id=b=c\r\nregion = eu-west-1\n[ x ]\n");
  EXPECT_EQ(profiles["default"]["aws_access_key_id"], "a");
  EXPECT_EQ(profiles["other"]["aws_access_key_id"], "b=c");
  EXPECT_EQ(profiles["other"]["region"], "eu-west-1");
}

class ObjectStoresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static const auto* server = ObjectServer::Start("s3").release();
    Begin(server);
  }
  void Begin(const ObjectServer* server) {
    if (server != nullptr) {
      environment_ = {{"AWS_ENDPOINT_URL", server->url()},
                      {"AWS_ACCESS_KEY_ID", "weft-test-key"},
                      {"AWS_SECRET_ACCESS_KEY", "weft-test-secret"}};
      url_ = server->url();
      return;
    }
    // tools/test.sh sets this variable and installs the tools, so the test must
    // not be skipped.
    if (std::getenv("WEFT_TEST_TOOLS_REQUIRED") != nullptr) {
      FAIL() << "the S3 server did not start";
    }
    GTEST_SKIP() << "needs tools/setup.sh --tests";
  }

  std::unique_ptr<ObjectStores> NewStores() {
    return std::make_unique<ObjectStores>(
        ObjectStoresOptions{.scheduler = scheduler_.get(),
                            .random = random_.get(),
                            .others = &home_,
                            .environment = [this](const char* name) {
                              return environment_[name];
                            }});
  }

  SystemClock clock_;
  const std::unique_ptr<Scheduler> scheduler_ =
      NewThreadScheduler(clock_, {.compute_threads = 1});
  const std::unique_ptr<Random> random_ = NewSystemRandom();
  MemoryFileSystem home_;
  std::map<std::string, std::string> environment_;
  std::string url_;
};

TEST_F(ObjectStoresTest, PathsAreRoutedByScheme) {
  const auto files = NewStores();
  ASSERT_OK(files->WriteFileAtomically("s3://bucket/f", "object"));
  ASSERT_OK(files->WriteFileAtomically("/f", "file"));
  EXPECT_EQ(files->ReadFile("s3://bucket/f").value(), "object");
  EXPECT_EQ(home_.ReadFile("/f").value(), "file");
  EXPECT_THAT(files->RenameFile("/f", "s3://bucket/g"),
              StatusIs(absl::StatusCode::kInvalidArgument, "elsewhere"));
  ASSERT_OK(files->RenameFile("s3://bucket/f", "s3://bucket/g"));
}

TEST_F(ObjectStoresTest, GcsWithHmacKeysUsesS3Protocol) {
  environment_["GS_ENDPOINT_URL"] = url_;
  environment_["GS_ACCESS_KEY_ID"] = "weft-test-key";
  environment_["GS_SECRET_ACCESS_KEY"] = "weft-test-secret";
  environment_["AWS_ACCESS_KEY_ID"] = "another";
  const auto files = NewStores();
  ASSERT_OK(files->WriteFileAtomically("gs://bucket/hmac", "x"));
  EXPECT_EQ(files->ReadFile("gs://bucket/hmac").value(), "x");
  EXPECT_THAT(files->ReadFile("gs://bucket/none"),
              StatusIs(absl::StatusCode::kNotFound, "gs://bucket/none"));
}

// The fixture has a server whose certificate is not trusted by default.
class ObjectStoresTlsTest : public ObjectStoresTest {
 protected:
  void SetUp() override {
    static const auto* server = ObjectServer::Start("s3-tls").release();
    Begin(server);
    if (server != nullptr) certificate_ = server->certificate();
  }
  // Writes and reads an object and returns the result.
  absl::Status WriteAndRead() {
    const auto files = NewStores();
    RETURN_IF_ERROR(files->WriteFileAtomically("s3://bucket/tls", "sealed"));
    ASSIGN_OR_RETURN(const std::string read,
                     files->ReadFile("s3://bucket/tls"));
    EXPECT_EQ(read, "sealed");
    return absl::OkStatus();
  }
  std::string certificate_;
};

TEST_F(ObjectStoresTlsTest, TrustedCertificateIsAccepted) {
  for (const char* name : {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE"}) {
    environment_[name] = certificate_;
    EXPECT_OK(WriteAndRead()) << name;
    environment_.erase(name);
  }
}

TEST_F(ObjectStoresTlsTest, UntrustedCertificateIsRejected) {
  EXPECT_THAT(WriteAndRead(),
              StatusIs(absl::StatusCode::kFailedPrecondition, "certificate"));
}

TEST_F(ObjectStoresTlsTest, CertificateMustMatchHostName) {
  environment_["AWS_CA_BUNDLE"] = certificate_;
  environment_["AWS_ENDPOINT_URL"] =
      absl::StrReplaceAll(url_, {{"localhost", "127.0.0.1"}});
  EXPECT_THAT(WriteAndRead(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                       "target host name '127.0.0.1'"));
}

TEST_F(ObjectStoresTlsTest, MissingCaBundleIsNamed) {
  environment_["AWS_CA_BUNDLE"] = "/nowhere/bundle.pem";
  EXPECT_THAT(WriteAndRead(),
              StatusIs(absl::StatusCode::kFailedPrecondition, "/nowhere"));
}

TEST_F(ObjectStoresTest, KeysComeFromProfileInFile) {
  environment_["AWS_ACCESS_KEY_ID"] = "";
  environment_["AWS_SECRET_ACCESS_KEY"] = "";
  environment_["HOME"] = "/home";
  environment_["AWS_PROFILE"] = "job";
  ASSERT_OK(home_.CreateDirectories("/home/.aws"));
  ASSERT_OK(
      home_.WriteFileAtomically("/home/.aws/credentials",
                                "[default]\naws_access_key_id = nobody\n[job]\n"
                                "aws_access_key_id = weft-test-key\n"
                                "aws_secret_access_key = weft-test-secret\n"));
  ASSERT_OK(NewStores()->WriteFileAtomically("s3://bucket/profile", "x"));
  environment_["AWS_PROFILE"] = "missing";
  EXPECT_THAT(NewStores()->ReadFile("s3://bucket/profile"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "AWS_PROFILE is missing"));
}

TEST_F(ObjectStoresTest, IncompleteKeyPairIsRejected) {
  environment_["AWS_SECRET_ACCESS_KEY"] = "";
  EXPECT_THAT(
      NewStores()->ReadFile("s3://bucket/f"),
      StatusIs(absl::StatusCode::kFailedPrecondition, "AWS_SECRET_ACCESS_KEY"));
}

}  // namespace
}  // namespace weft
