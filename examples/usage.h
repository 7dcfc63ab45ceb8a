// ShowUsage: what an example without flags does with arguments it can't use.
#ifndef WEFT_EXAMPLES_USAGE_H_
#define WEFT_EXAMPLES_USAGE_H_

namespace weft::examples {

// Says how the program is called: `arguments` as in "TARGET [init]", `meaning`
// in sentences. Returns the exit code: where --help was asked for it is written
// to stdout and that is success, else to stderr, and it is 2.
int ShowUsage(int argc, char** argv, const char* arguments,
              const char* meaning);

}  // namespace weft::examples

#endif  // WEFT_EXAMPLES_USAGE_H_
