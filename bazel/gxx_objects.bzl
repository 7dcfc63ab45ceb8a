"""Objects that g++ compiles even if clang is the compiler.

Kernels per instruction set keep their vector code and their rounding in every
configuration, so that tests see the results that users get.
"""

load("@cuda//:defs.bzl", "HOST_COMPILER", "HOST_COMPILER_VERSION")
load("//bazel:compile_objects.bzl", "compile_objects")

# The warnings of .bazelrc for g++.
_WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wshadow",
    "-Wno-missing-field-initializers",
    "-Werror",
]

def _gxx_objects_impl(ctx):
    context = cc_common.merge_cc_infos(
        cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
    ).compilation_context
    includes = []
    for folder in context.quote_includes.to_list():
        includes += ["-iquote", folder]
    for folder in context.system_includes.to_list():
        includes += ["-isystem", folder]
    return [compile_objects(
        ctx,
        context,
        HOST_COMPILER,
        ["-std=c++20", "-fPIC", "-iquote", "."] + includes +
        ["-D" + name for name in context.defines.to_list()] +
        _WARNINGS + ctx.attr.copts,
        folder = "_gxx",
        mnemonic = "GxxCompile",
        version = {"WEFT_GXX_VERSION": HOST_COMPILER_VERSION},
        suffix = " for " + ctx.label.name,
    )]

gxx_objects = rule(
    implementation = _gxx_objects_impl,
    attrs = {
        "copts": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
        "hdrs": attr.label_list(allow_files = True),
        "srcs": attr.label_list(allow_files = [".cc"]),
    },
)
