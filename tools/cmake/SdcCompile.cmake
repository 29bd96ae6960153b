# sdc_compile(<target> MODEL <model.onnx or folder> [OUTPUT <file>]
#             [CALIBRATION <file>] [PROMPTS <file>] [TOKENIZER <folder or file>]
#             [OPTIONS <flag>...])
#
# Adds <target>, which compiles MODEL into OUTPUT (default <target>.sdx in the
# current build folder) with `sdc compile`. It is built again when anything it
# was made of changes: the graph, a shard of external data, the calibration, the
# prompts, the tokenizer, or sdc itself. The target's property SDC_EXECUTABLE is
# the file's path. OPTIONS are flags of `sdc compile`.
function(sdc_compile target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG ""
    "MODEL;OUTPUT;CALIBRATION;PROMPTS;TOKENIZER" "OPTIONS")
  if(NOT ARG_MODEL)
    message(FATAL_ERROR "sdc_compile(${target}): MODEL is missing")
  endif()
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "sdc_compile(${target}): unknown arguments ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_OUTPUT)
    set(ARG_OUTPUT ${target}.sdx)
  endif()
  get_filename_component(_output "${ARG_OUTPUT}" ABSOLUTE
    BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")

  set(_flags)
  set(_inputs)
  foreach(_input MODEL CALIBRATION PROMPTS TOKENIZER)
    if(NOT ARG_${_input})
      continue()
    endif()
    get_filename_component(_path "${ARG_${_input}}" ABSOLUTE)
    if("${_input}" STREQUAL "MODEL")
      set(_model "${_path}")
    else()
      string(TOLOWER ${_input} _flag)
      list(APPEND _flags --${_flag} "${_path}")
    endif()
    # Folders are covered by the depfile.
    if(NOT IS_DIRECTORY "${_path}")
      list(APPEND _inputs "${_path}")
    endif()
  endforeach()

  add_custom_command(
    OUTPUT "${_output}"
    COMMAND sdc::sdc compile "${_model}" -o "${_output}" ${_flags}
            ${ARG_OPTIONS} --depfile "${_output}.d"
    DEPENDS ${_inputs} $<TARGET_FILE:sdc::sdc>
    DEPFILE "${_output}.d"
    COMMENT "Compiling ${target} with sdc"
    USES_TERMINAL
    VERBATIM)
  add_custom_target(${target} ALL DEPENDS "${_output}")
  set_target_properties(${target} PROPERTIES SDC_EXECUTABLE "${_output}")
endfunction()
