// OpCase is one op with its inputs, to be timed: a line of ops_cases.json. The
// TensorFlow benchmark (ops.py) reads the same file, so that both do the same
// work.
//
// A line is {"name", "op", "repeat", "inputs", "attrs"}. A step consists of
// `repeat` copies of the op. An input is {"dtype", ...} with one of
//   "shape": uniform in [-1, 1); with "below": integers in [0, below); with
//   "variable": true a variable that begins with ones;
//   "values": a vector; "value": a scalar;
// or a list of inputs, which form one argument of the op. An attr is a JSON
// value, or {"type": "float"}. All other attrs have their defaults.
#ifndef WEFT_BENCHMARKS_KERNELS_OPS_CASES_H_
#define WEFT_BENCHMARKS_KERNELS_OPS_CASES_H_

#include <string>
#include <vector>

#include "libs/api/weft.h"

namespace weft::benchmarks {

struct OpCase {
  std::string name;
  std::string op;
  int repeat = 1;
  AttrMap attrs;
  struct Argument {
    Tensor value;
    // If true, `value` is the initial value of a variable.
    bool is_variable = false;
  };
  // Creates the inputs. They are created only when the case is run, because the
  // inputs of all cases together are large.
  std::vector<Argument> MakeInputs() const;

  std::string inputs;  // the inputs as JSON
};

// Returns all cases; ends the program if the table is malformed.
std::vector<OpCase> ReadOpCases();

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_KERNELS_OPS_CASES_H_
