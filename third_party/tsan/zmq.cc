// Suppresses ThreadSanitizer's reports about libzmq. Debian's library is
// compiled without the sanitizer, so its lock-free pipes, through which
// messages pass between threads, are invisible. The second line speeds up
// send(): without it, the sanitizer would check each word of a lent megabyte.
//
// The last two lines suppress reports about descriptors. libzmq closes a
// descriptor, which the sanitizer does not see. The system then gives the same
// number to a new descriptor of the function, which is closed under the
// function's lock.
//
// Linked only with --config=tsan, into programs that use @zmq. Data that Weft's
// own code passes without libzmq is still checked.
extern "C" const char* __tsan_default_suppressions() {
  return "race:libzmq.so\n"
         "called_from_lib:libzmq.so\n"
         "race:weft::bus::ListeningSocket::Cut\n"
         "race:weft::bus::ListeningSocket::IsWelcome\n";
}
