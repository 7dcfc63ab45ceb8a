// Tells ThreadSanitizer to keep quiet about what happens inside libzmq.
// Debian's library is compiled without the sanitizer, so its lock-free pipes,
// through which messages pass from thread to thread, are invisible. The second
// line spares a megabyte that is lent to send() the search for its every word.
//
// The last two: a descriptor that libzmq closed, unseen, comes back as the one
// that the function makes, and closes again under its lock.
//
// Linked under --config=tsan only, and into what uses @zmq. What our own code
// hands over beside libzmq is still checked.
extern "C" const char* __tsan_default_suppressions() {
  return "race:libzmq.so\n"
         "called_from_lib:libzmq.so\n"
         "race:weft::bus::ListeningSocket::Cut\n"
         "race:weft::bus::ListeningSocket::IsWelcome\n";
}
