"""Precompiled headers, which are parsed once for a whole build."""

load(
    "@bazel_tools//tools/build_defs/cc:action_names.bzl",
    "CPP_COMPILE_ACTION_NAME",
)
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

# It decides whether g++ predefines __cpp_runtime_arrays, so headers and sources
# must both have it.
_PEDANTIC = "-Wpedantic"

def _cc1(arguments):
    """Returns flags that pass the arguments to clang's internal compiler."""
    passed = []
    for argument in arguments:
        passed += ["-Xclang", argument]
    return passed

# Templates that the header uses are instantiated in it. It contains no times
# and no paths of the checkout, so that checkouts can share it through the disk
# cache.
_CLANG_HEADER = ["-fpch-instantiate-templates"] + _cc1([
    "-fno-pch-timestamp",
    "-relocatable-pch",
    "-isysroot",
    "/proc/self/cwd",
])

# Bazel tracks the inputs of the header, so clang need not validate them; it
# does not check the flags either. Paths are relative to the working directory.
_CLANG_SOURCE = _cc1(["-fno-validate-pch", "-isysroot", "."])

def _compile(ctx, toolchain, context, header):
    """Returns the .gch (g++) or .pch (clang), made with the flags of sources."""
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    flags = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = CPP_COMPILE_ACTION_NAME,
        variables = cc_common.create_compile_variables(
            feature_configuration = features,
            cc_toolchain = toolchain,
            user_compile_flags = ctx.fragments.cpp.copts +
                                 ctx.fragments.cpp.cxxopts,
            include_directories = context.includes,
            quote_include_directories = depset(
                ["."],
                transitive = [context.quote_includes],
            ),
            system_include_directories = context.system_includes,
            preprocessor_defines = context.defines,
            use_pic = cc_common.is_enabled(
                feature_configuration = features,
                feature_name = "supports_pic",
            ),
        ),
    )
    is_clang = toolchain.compiler == "clang"
    compiled = ctx.actions.declare_file(
        header.basename + (".pch" if is_clang else ".gch"),
    )
    ctx.actions.run(
        outputs = [compiled],
        inputs = depset(
            [header] + ctx.files.textual_hdrs,
            transitive = [context.headers, toolchain.all_files],
        ),
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
        ),
        arguments = flags + (_CLANG_HEADER if is_clang else []) + [
            _PEDANTIC,
            "-x",
            "c++-header",
            "-c",
            header.path,
            "-o",
            compiled.path,
        ],
        # Clang makes the paths absolute, then relative to -isysroot.
        env = dict(cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = cc_common.empty_variables(),
        ), PWD = "/proc/self/cwd"),
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling " + header.short_path,
    )
    return compiled

def _weft_precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    used = cc_common.merge_cc_infos(
        cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
    )
    context = used.compilation_context

    # The compiler looks for NAME.h.gch or NAME.h.pch beside the NAME.h that it
    # must include.
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    files = [header]
    if ctx.var.get("precompiled") != "off":
        ctx.actions.expand_template(
            template = ctx.file.hdr,
            output = header,
            substitutions = {},
        )
        files.append(_compile(ctx, toolchain, context, header))
    else:
        # Measures single files, and detects missing includes.
        ctx.actions.write(header, "// Nothing: each file includes its own.\n")
    own = CcInfo(compilation_context = cc_common.create_compilation_context(
        headers = depset(files + ctx.files.textual_hdrs),
    ))
    merged = cc_common.merge_cc_infos(cc_infos = [own, used])
    return [
        DefaultInfo(files = depset(files)),
        # Dependents link the libraries of the included headers themselves.
        CcInfo(compilation_context = merged.compilation_context),
    ]

weft_precompiled_header = rule(
    implementation = _weft_precompiled_header_impl,
    doc = "NAME.h, and NAME.h.gch or NAME.h.pch, which the compiler reads instead.",
    attrs = {
        "hdr": attr.label(allow_single_file = [".h"], mandatory = True),
        "textual_hdrs": attr.label_list(allow_files = [".h"]),
        "deps": attr.label_list(providers = [CcInfo]),
        "_cc_toolchain": attr.label(
            default = "@bazel_tools//tools/cpp:current_cc_toolchain",
        ),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def _chosen(name):
    """Returns {setting: header} for the configurations.

    Optimized programs use the header of libraries: tools/quickstart.sh compiles
    so few programs that precompiling weft.h costs more than it saves.
    """
    if not name.endswith("_of_program"):
        return {"//conditions:default": name}
    return {
        "//bazel:optimized": name.replace("_of_program", "_of_core"),
        "//conditions:default": name,
    }

def precompiled_deps(name):
    """Returns the dependency on //bazel:NAME."""
    return select({
        setting: ["//bazel:" + header]
        for setting, header in _chosen(name).items()
    })

def precompiled_copts(name):
    """Returns flags that include //bazel:NAME.h first.

    A header that does not match the flags of a source is an error; by default
    g++ ignores it silently. Clang does not check the flags.
    """
    return [_PEDANTIC] + select({
        setting: ["-include", "$(BINDIR)/bazel/%s.h" % header]
        for setting, header in _chosen(name).items()
    }) + select({
        "//bazel:clang": _CLANG_SOURCE,
        "//conditions:default": ["-Werror=invalid-pch"],
    })
