"""Headers that are parsed once for a whole build (g++'s precompiled headers)."""

load(
    "@bazel_tools//tools/build_defs/cc:action_names.bzl",
    "CPP_COMPILE_ACTION_NAME",
)
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

# Decides whether g++ predefines __cpp_runtime_arrays, so both sides say it.
_PEDANTIC = "-Wpedantic"

def _compile(ctx, toolchain, context, header):
    """Returns header's .gch, made with the flags that each source gets."""
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
    compiled = ctx.actions.declare_file(header.basename + ".gch")
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
        arguments = flags + [
            _PEDANTIC,
            "-x",
            "c++-header",
            "-c",
            header.path,
            "-o",
            compiled.path,
        ],
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = cc_common.empty_variables(),
        ),
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

    # g++ looks for NAME.h.gch beside the NAME.h that it is told to include.
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
        # To see what a file takes by itself, and whether it includes enough.
        ctx.actions.write(header, "// Nothing: each file includes its own.\n")
    own = CcInfo(compilation_context = cc_common.create_compilation_context(
        headers = depset(files + ctx.files.textual_hdrs),
    ))
    merged = cc_common.merge_cc_infos(cc_infos = [own, used])
    return [
        DefaultInfo(files = depset(files)),
        # What it includes is linked by those who depend on it themselves.
        CcInfo(compilation_context = merged.compilation_context),
    ]

weft_precompiled_header = rule(
    implementation = _weft_precompiled_header_impl,
    doc = "NAME.h and NAME.h.gch, which g++ takes for it.",
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

def precompiled_deps(name):
    """The label //bazel:NAME, where the compiler is g++."""
    return select({
        "//bazel:clang": [],
        "//conditions:default": ["//bazel:" + name],
    })

def precompiled_copts(name):
    """Has //bazel:NAME.h included first, where the compiler is g++.

    g++ ignores one that does not fit, without a word: here that is an error.
    """
    return select({
        "//bazel:clang": [],
        "//conditions:default": [
            _PEDANTIC,
            "-Werror=invalid-pch",
            "-include",
            "$(BINDIR)/bazel/%s.h" % name,
        ],
    })
