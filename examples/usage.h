// ShowUsage prints the usage of an example program that has no flags and got
// invalid arguments.
#ifndef WEFT_EXAMPLES_USAGE_H_
#define WEFT_EXAMPLES_USAGE_H_

namespace weft::examples {

// Prints how to call the program. `arguments` lists its arguments, for example
// "TARGET [init]", and `meaning` explains them in sentences. Returns the exit
// code: for --help it prints to stdout and returns success, otherwise it prints
// to stderr and returns 2.
int ShowUsage(int argc, char** argv, const char* arguments,
              const char* meaning);

}  // namespace weft::examples

#endif  // WEFT_EXAMPLES_USAGE_H_
