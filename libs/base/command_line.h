// ParseFlags parses the command-line flags of Weft's programs.
//
// Flags use Abseil (ABSL_FLAG) and may be defined anywhere in the program.
// Abseil's own --help shows only the flags in main's file, but the flags of a
// service are defined in libraries.
#ifndef WEFT_LIBS_BASE_COMMAND_LINE_H_
#define WEFT_LIBS_BASE_COMMAND_LINE_H_

#include "absl/strings/string_view.h"

namespace weft {

// Sets the flags in `argv`. `usage` describes the program: --help prints it
// with all flags of the program, grouped by the file that defines them, and
// exits as Abseil does. An unknown flag, a value that does not parse or an
// argument that is not a flag prints a line on stderr, which suggests flags
// with similar names, and exits with code 1. Must be called once from main,
// before any thread is started.
void ParseFlags(int argc, char** argv, absl::string_view usage);

}  // namespace weft

#endif  // WEFT_LIBS_BASE_COMMAND_LINE_H_
