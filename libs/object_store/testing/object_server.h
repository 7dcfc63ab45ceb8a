// ObjectServer runs a real object store in a separate process
// (object_server.py). The process ends when the ObjectServer is destroyed.
#ifndef WEFT_LIBS_OBJECT_STORE_TESTING_OBJECT_SERVER_H_
#define WEFT_LIBS_OBJECT_STORE_TESTING_OBJECT_SERVER_H_

#include <memory>
#include <string>
#include <utility>

namespace weft {

class ObjectServer {
 public:
  // Starts a server. Returns null if Python does not have the required modules.
  // WEFT_TEST_PYTHON names a Python interpreter with these modules
  // (tools/setup.sh --tests). tools/test.sh reports missing modules.
  static std::unique_ptr<ObjectServer> Start(const std::string& kind);
  ~ObjectServer();

  const std::string& url() const { return url_; }
  // Returns the certificate file of a server with TLS.
  const std::string& certificate() const { return certificate_; }

 private:
  ObjectServer(int process, int input, std::string url, std::string certificate)
      : process_(process),
        input_(input),
        url_(std::move(url)),
        certificate_(std::move(certificate)) {}

  const int process_;
  const int input_;  // closing it stops the server
  const std::string url_;
  const std::string certificate_;
};

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_TESTING_OBJECT_SERVER_H_
