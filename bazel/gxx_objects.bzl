"""Objects that g++ compiles also where clang is the compiler.

Kernels per instruction set keep their vector code and their rounding in every
configuration, so that tests see the results that users get.
"""

load("@cuda//:defs.bzl", "HOST_COMPILER", "HOST_COMPILER_VERSION")

# As .bazelrc has them for g++.
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
    objects = []
    for src in ctx.files.srcs:
        compiled = ctx.actions.declare_file(
            "_gxx/%s/%s.o" % (ctx.label.name, src.basename[:-len(".cc")]),
        )
        ctx.actions.run(
            executable = HOST_COMPILER,
            arguments = ["-std=c++20", "-fPIC", "-iquote", "."] + includes +
                        ["-D" + name for name in context.defines.to_list()] +
                        _WARNINGS + ctx.attr.copts +
                        ["-c", src.path, "-o", compiled.path],
            inputs = depset(
                [src] + ctx.files.hdrs,
                transitive = [context.headers],
            ),
            outputs = [compiled],
            mnemonic = "GxxCompile",
            progress_message = "Compiling %s for %s" %
                               (src.short_path, ctx.label.name),
            # The cache does not know g++'s own files.
            env = {
                "PATH": "/usr/bin:/bin",
                "TMPDIR": "/tmp",
                "WEFT_GXX_VERSION": HOST_COMPILER_VERSION,
            },
        )
        objects.append(compiled)
    return [DefaultInfo(files = depset(objects))]

gxx_objects = rule(
    implementation = _gxx_objects_impl,
    attrs = {
        "copts": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
        "hdrs": attr.label_list(allow_files = True),
        "srcs": attr.label_list(allow_files = [".cc"]),
    },
)
