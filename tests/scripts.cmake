# Tests that start the command and the tools, as scripts. Included by CMakeLists.txt.
#
# SPDX-License-Identifier: GPL-3.0-or-later

set(golden ${CMAKE_CURRENT_SOURCE_DIR}/golden)
set(sample ${PROJECT_SOURCE_DIR}/data/sample)
set(docs ${PROJECT_SOURCE_DIR}/docs)
set(shared ${PROJECT_SOURCE_DIR}/../shared/data) # beside the project, if it is there
set(popliner $<TARGET_FILE:popliner>)

# Registers a script in Python, in shell, or in JavaScript, which page_test.sh runs; the rest is for
# popliner_register. What a script builds is built by the generator of this build.
function(popliner_script name script)
  cmake_path(ABSOLUTE_PATH script)
  set(interpreter ${python})
  if(script MATCHES "[.]sh$")
    set(interpreter sh)
  elseif(script MATCHES "[.]js$")
    set(interpreter sh ${CMAKE_CURRENT_SOURCE_DIR}/page_test.sh)
  endif()
  popliner_register(${name} COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
    CMAKE_GENERATOR=${CMAKE_GENERATOR} ${interpreter} ${script} ${ARGN})
endfunction()

# ---- Profiles ----------------------------------------------------------------------------------

# The generator of synthetic profiles, whose profiles are checked by a checker that shares nothing
# with it, and that real profiles have passed, if they are there; and the tool that compares
# predictions with those of pipelines.
popliner_script(mkprofile mkprofile_test.py ARGUMENTS ${made_by} CASES quick full nightly)
popliner_script(pipeline_profile pipeline_profile.py ARGUMENTS ${mkprofile} CASES quick full
  nightly)
popliner_script(made_placement made_placement_test.py ARGUMENTS ${mkprofile} ${shared}/firehose
  CASES quick full)
popliner_script(pipeline_ipus pipeline_ipus_test.py ARGUMENTS ${popliner} ${mkprofile}
  CASES quick full nightly)
popliner_script(compiled compiled_test.py ARGUMENTS ${popliner} ${mkprofile} FROM full)
popliner_script(compare_pipeline ${PROJECT_SOURCE_DIR}/tools/compare-pipeline
  ARGUMENTS --quick --limit 25 --popliner ${popliner} --mkprofile ${mkprofile} FROM full)

# Profiles against themselves, against a second implementation, and corrupted.
popliner_script(profile_queries profile_queries_test.py
  ARGUMENTS ${docs}/profile-format.md ${sample} ${golden}/popart-train-outline
    ${golden}/tensorflow-train ${shared}/firehose)
popliner_script(profile_checks profile_checks_test.py CASES quick full nightly
  ARGUMENTS ${popliner} ${mkprofile} ${golden}/popart-inf ${golden}/popart-inf-outline
    ${golden}/popart-train
    ${golden}/popart-train-outline ${golden}/popart-wide ${golden}/poptorch-inf
    ${golden}/poptorch-train-outline ${golden}/tensorflow-inf ${golden}/tensorflow-train
    ${sample} ${shared}/firehose
    -- ${golden}/popart-train-outline ${golden}/popart-inf ${golden}/poptorch-inf
    ${golden}/tensorflow-inf)

# Other versions of the format against the sample as it is.
popliner_script(schema_versions schema_versions_test.py CASES quick nightly
  ARGUMENTS ${popliner} ${CMAKE_CURRENT_SOURCE_DIR}/schemas ${docs}/profile-format.md ${sample})

# Small files that ask for endless work, and a profile that another program rewrites all the while.
popliner_script(hostile_files hostile_files_test.py ARGUMENTS ${popliner} ${sample} FROM full)
popliner_script(rewritten rewritten_test.py ARGUMENTS ${popliner} ${sample} CASES quick nightly)

# The example of a walk over a profile, against SQL.
find_program(SQLITE3_TOOL sqlite3 REQUIRED)
add_executable(profile_tour examples/profile_tour.c)
target_link_libraries(profile_tour PRIVATE popliner_shared)
popliner_script(profile_tour profile_tour_test.sh
  ARGUMENTS $<TARGET_FILE:profile_tour> ${PROJECT_SOURCE_DIR})

# ---- What is told of them, and the splits --------------------------------------------------------

# The command against what PopLiner 1.0.0 printed.
popliner_script(golden golden_test.py ARGUMENTS ${popliner} CASES quick full)

# The full memory model against a second implementation, for many splits.
popliner_script(memory_model memory_model_test.py CASES quick full nightly
  ARGUMENTS ${popliner} ${mkprofile} ${golden}/popart-inf-outline ${golden}/popart-inf
    ${golden}/popart-wide ${golden}/poptorch-inf ${golden}/popart-train ${golden}/tensorflow-inf
    ${golden}/tensorflow-train ${golden}/popart-train-outline ${golden}/poptorch-train-outline
    ${sample} ${shared}/firehose)

# Sections against a second implementation, and the tables that were there before.
popliner_script(sections sections_test.py CASES quick full nightly
  ARGUMENTS ${popliner} ${mkprofile} ${docs}/sections.schema.json ${sample}
    ${golden}/popart-train-outline ${golden}/popart-inf ${golden}/popart-inf-outline
    ${golden}/popart-train ${golden}/popart-wide ${golden}/poptorch-inf
    ${golden}/poptorch-train-outline ${golden}/tensorflow-inf ${golden}/tensorflow-train
    ${shared}/firehose ${shared}/popxl-mnist)

# What is read is not written, for all pairs of options.
popliner_script(run_files run_files_test.py CASES quick full nightly
  ARGUMENTS ${popliner} ${sample})

# What is written holds no path, and no notes if these are left out.
popliner_script(privacy privacy_test.py ARGUMENTS ${popliner} ${sample})

# Traces against that implementation, for a few splits; plots, read back, against the sections.
popliner_script(trace trace_test.py CASES quick full
  ARGUMENTS ${popliner} ${mkprofile} ${sample} ${golden}/popart-train ${golden}/tensorflow-inf
    ${shared}/firehose)
popliner_script(log_lines log_lines_test.py CASES quick full
  ARGUMENTS ${popliner} ${sample} ${golden} ${PROJECT_SOURCE_DIR}/data/costs ${shared}/firehose)
popliner_script(plot plot_test.py ARGUMENTS ${popliner} ${mkprofile} ${sample} CASES quick full)

# Reports on terminals, against the JSON of the same questions and screens of the design.
popliner_script(screen screen_test.py ARGUMENTS ${popliner} ${mkprofile} CASES quick full nightly)

# Comparisons against ones that are made of two tables.
popliner_script(changes_of_profiles changes_test.py ARGUMENTS ${popliner} ${mkprofile} ${sample}
  CASES quick full)

# One split of several reports against every split, evaluated in each by itself.
popliner_script(reports reports_test.py
  ARGUMENTS ${popliner} ${mkprofile} ${docs}/reports.schema.json CASES quick full nightly)

# Pages: their file, without a browser and in one; their own evaluating and solving against the
# command's.
popliner_script(page_file page_file_test.py CASES quick full
  ARGUMENTS ${popliner} ${mkprofile} ${CMAKE_CURRENT_BINARY_DIR}/page_file ${sample}
    ${golden}/popart-train-outline ${golden}/popart-inf-outline ${golden}/popart-train)
popliner_script(page_tiles page_tiles_test.py CASES quick full nightly
  ARGUMENTS ${popliner} ${mkprofile} ${CMAKE_CURRENT_BINARY_DIR}/page_tiles ${sample}
    ${golden}/popart-train ${golden}/tensorflow-train)
popliner_script(page_places page_places_test.js
  ARGUMENTS ${popliner} ${mkprofile} ${CMAKE_CURRENT_BINARY_DIR}/page_places ${golden} ${sample})
popliner_script(page_model page_model_test.js CASES quick full nightly
  ARGUMENTS ${popliner} ${mkprofile} ${CMAKE_CURRENT_BINARY_DIR}/page_model ${golden} ${sample}
    ${shared}/firehose)
popliner_script(page_shown page_shown_test.py CASES quick full ARGUMENTS ${popliner} ${sample})
popliner_script(page_browser page_browser_test.js FROM full
  ARGUMENTS ${popliner} ${mkprofile} ${CMAKE_CURRENT_BINARY_DIR}/page_browser ${sample}
    ${shared}/firehose)
popliner_script(page_answers page_answers_test.js CASES full nightly
  ARGUMENTS ${popliner} ${mkprofile} ${CMAKE_CURRENT_BINARY_DIR}/page_answers ${sample}
    ${shared}/firehose)

# The solver as a WebAssembly module.
popliner_script(wasm wasm_test.js CASES quick full
  ARGUMENTS ${popliner} ${CMAKE_CURRENT_BINARY_DIR}/wasm ${POPLINER_WASM_MODULE})

# Plans for frameworks, read back by second implementations of what reads them there.
popliner_script(emit_read_back emit_test.py CASES quick full nightly
  ARGUMENTS ${popliner} ${docs}/plan.schema.json ${sample} ${golden}/popart-inf
    ${golden}/popart-inf-outline ${golden}/popart-train ${golden}/popart-train-outline
    ${golden}/popart-wide ${golden}/poptorch-inf ${golden}/poptorch-train-outline
    ${golden}/tensorflow-inf ${golden}/tensorflow-train)

# ---- Files of costs ------------------------------------------------------------------------------

# Chains of operator graphs against a second implementation; published ones if they are there.
set(operators ${shared}/dnn-partitioning/throughput-inputs/OperatorGraphs)
popliner_script(operator_graphs operator_graphs_test.py CASES quick full nightly
  ARGUMENTS ${popliner} ${operators}/bert_l-3_training.json ${operators}/bert_l-6_training.json
    ${operators}/bert_L-12_training.json ${operators}/resnet50_training.json)

# All pairs of options of --solve, and several of them, against plain_solver.py; tables of layers
# against popliner's own format.
popliner_script(option_pairs option_pairs_test.py
  ARGUMENTS ${popliner} ${mkprofile} ${docs}/options.md CASES quick nightly)
popliner_script(costs_csv costs_csv_test.py ARGUMENTS ${popliner} CASES quick full nightly)
popliner_script(step step_test.py ARGUMENTS ${popliner})
popliner_script(torch_orders torch_orders_test.py ARGUMENTS ${popliner} CASES quick full)
popliner_script(stage_replicas stage_replicas_test.py
  ARGUMENTS ${popliner} ${shared}/pipedream/profiler)
popliner_script(several_options several_options_test.py
  ARGUMENTS ${popliner} ${mkprofile} CASES quick full nightly)

# The command on published instances, against published splits.
popliner_register(published FROM full
  COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1 ${PROJECT_SOURCE_DIR}/tools/published
  ARGUMENTS --popliner ${popliner})

# ---- What is built and installed -----------------------------------------------------------------

# The guide and the README, command by command; the manual page and the completions of shells.
popliner_script(guide guide_test.py ARGUMENTS ${docs}/guide.md ${popliner} ${mkprofile})
popliner_script(questions guide_test.py ARGUMENTS ${docs}/questions.md ${popliner} ${mkprofile})
popliner_script(readme guide_test.py
  ARGUMENTS --screen ${PROJECT_SOURCE_DIR}/README.md ${popliner} ${PROJECT_SOURCE_DIR}/data)
file(GLOB documents CONFIGURE_DEPENDS ${docs}/*.md)
popliner_script(indented guide_test.py
  ARGUMENTS --indented ${popliner} ${mkprofile} ${PROJECT_SOURCE_DIR}/README.md ${documents})
if(TARGET popliner_manuals)
  popliner_script(manual manual_test.py
    ARGUMENTS ${popliner} ${PROJECT_BINARY_DIR}/popliner.1
      ${PROJECT_SOURCE_DIR}/src/command/popliner.bash ${PROJECT_SOURCE_DIR}/debian/changelog
      ${docs})
endif()

# What a program that links the library sees.
popliner_script(exports exports_test.sh
  ARGUMENTS $<TARGET_FILE:popliner_shared> $<TARGET_FILE:popliner_solver> ${PROJECT_SOURCE_DIR}
    ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

# What is built for users is guarded.
if(POPLINER_HARDENED AND NOT POPLINER_SANITIZE AND NOT POPLINER_FUZZ
   AND CMAKE_BUILD_TYPE STREQUAL Release)
  popliner_script(hardened hardened_test.sh
    ARGUMENTS ${popliner} $<TARGET_FILE:popliner_shared>)
endif()

if(NOT POPLINER_SANITIZE AND NOT POPLINER_FUZZ)
  # valgrind sees what the sanitizers' build does not: what was never written, in libraries too.
  popliner_script(memcheck memcheck_test.sh FROM full
    ARGUMENTS ${popliner} ${sample} ${CMAKE_CURRENT_SOURCE_DIR}/memcheck.supp
      ${CMAKE_CURRENT_BINARY_DIR}/memcheck)

  # Allocations and system calls of the command fail, one by one. Sanitizers allocate by themselves.
  if(CMAKE_SYSTEM_NAME STREQUAL Linux AND CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
    add_library(faults MODULE faults/faults.c)
    target_link_libraries(faults PRIVATE popliner_warnings Threads::Threads ${CMAKE_DL_LIBS})
    popliner_script(faults faults/faults.py CASES full nightly
      ARGUMENTS $<TARGET_FILE:faults> ${popliner} ${sample})
  endif()
endif()

# The Debian packages, which it builds twice.
popliner_script(packages packages_test.sh FROM nightly
  ARGUMENTS ${PROJECT_SOURCE_DIR} ${CMAKE_COMMAND} ${CMAKE_C_COMPILER}
    $<TARGET_FILE:popliner-mkprofile>)

# The commands of the README on a machine that has nothing yet; and the guide, by what tools/demo
# built there.
foreach(suite bookworm trixie)
  popliner_script(minimal_${suite} minimal_debian.sh FROM nightly
    ARGUMENTS ${suite} ${PROJECT_SOURCE_DIR} tools/demo tools/test
      "python3 tests/guide_test.py docs/guide.md build/demo/popliner build/demo/popliner-mkprofile"
      "python3 tests/guide_test.py --screen README.md build/demo/popliner data")
endforeach()

# What another project does with it, installed or embedded; and all examples, built against an
# installed copy.
get_directory_property(sanitizers LINK_OPTIONS)
list(FILTER sanitizers INCLUDE REGEX "^-fsanitize")
popliner_script(installed installed_test.sh CASES quick full
  ARGUMENTS ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${CMAKE_C_COMPILER} ${PROJECT_VERSION}
    ${sanitizers})
popliner_script(embedded embedded_test.sh CASES nightly
  ARGUMENTS ${CMAKE_COMMAND} ${PROJECT_SOURCE_DIR} ${CMAKE_C_COMPILER} ${PROJECT_VERSION})
popliner_script(examples examples_test.sh CASES quick full
  ARGUMENTS ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/examples ${sample}
    ${golden} ${CMAKE_C_COMPILER} ${sanitizers})
if(TARGET popliner_python)
  popliner_script(header_examples header_examples_test.py ARGUMENTS ${CMAKE_C_COMPILER}
    ${PROJECT_SOURCE_DIR} $<TARGET_FILE:popliner_shared> ${PROJECT_BINARY_DIR}/python ${sample})
endif()
