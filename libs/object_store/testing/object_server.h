// ObjectServer runs a real object store in a separate process
// (object_server.py) during the lifetime of this object.
#ifndef WEFT_LIBS_OBJECT_STORE_TESTING_OBJECT_SERVER_H_
#define WEFT_LIBS_OBJECT_STORE_TESTING_OBJECT_SERVER_H_

#include <memory>
#include <string>
#include <utility>

namespace weft {

class ObjectServer {
 public:
  // Null if Python lacks the required modules: WEFT_TEST_PYTHON names an
  // interpreter that has them (tools/setup.sh --tests), which tools/test.sh
  // reports.
  static std::unique_ptr<ObjectServer> Start(const std::string& kind);
  ~ObjectServer();

  const std::string& url() const { return url_; }
  // Certificate file of the server with TLS.
  const std::string& certificate() const { return certificate_; }

 private:
  ObjectServer(int process, int input, std::string url, std::string certificate)
      : process_(process),
        input_(input),
        url_(std::move(url)),
        certificate_(std::move(certificate)) {}

  const int process_;
  const int input_;  // the server stops at its end
  const std::string url_;
  const std::string certificate_;
};

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_TESTING_OBJECT_SERVER_H_
