// ParseFlags: how the programs of Weft read their flags.
//
// Flags are Abseil's (ABSL_FLAG), wherever in the program they are defined.
// Abseil's own --help shows only those of the file that main is in; a service's
// are in libraries.
#ifndef WEFT_LIBS_BASE_COMMAND_LINE_H_
#define WEFT_LIBS_BASE_COMMAND_LINE_H_

#include "absl/strings/string_view.h"

namespace weft {

// Sets the flags that `argv` names. `usage` says what the program is: --help
// prints it and all flags of the program, grouped by the file that defines
// them, and ends the process, as Abseil does. A flag that there is not, a value
// that does not parse and an argument that is no flag end it too, with exit
// code 1 and a line on stderr, which suggests flags with a similar name. To be
// called from main, once, before any thread was started.
void ParseFlags(int argc, char** argv, absl::string_view usage);

}  // namespace weft

#endif  // WEFT_LIBS_BASE_COMMAND_LINE_H_
