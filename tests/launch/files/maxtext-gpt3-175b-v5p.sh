PER_DEVICE_BATCH_SIZE=${1:-${PER_DEVICE_BATCH_SIZE:-4}}
REMAT_POLICY=${2:-${REMAT_POLICY:-full}}
ICI_DATA_PARALLELISM=${3:-${ICI_DATA_PARALLELISM:-1}}
ICI_FSDP_PARALLELISM=${4:-${ICI_FSDP_PARALLELISM:-64}}
ICI_TENSOR_PARALLELISM=${5:-${ICI_TENSOR_PARALLELISM:-8}}
RUNNAME=${6:-${RUNNAME:-convergence_test_0}}
BASE_OUTPUT_DIRECTORY=${7:-${BASE_OUTPUT_DIRECTORY:-gs://some-bucket}}
EXECUTABLE=${8:-train} # Or train_compile
if [[ "$EXECUTABLE" == "train_compile" ]]; then
  COMPILE_TOPOLOGY=${9}
  COMPILE_TOPOLOGY_NUM_SLICES=${10}
  python3 -m maxtext.trainers.pre_train."$EXECUTABLE" "${MAXTEXT_CONFIGS_DIR:-${MAXTEXT_REPO_ROOT:-$PWD}/src/maxtext/configs}"/base.yml run_name="${RUNNAME}" model_name=gpt3-175b\
    base_output_directory="${BASE_OUTPUT_DIRECTORY}"\
    enable_checkpointing=false async_checkpointing=false\
    steps=20\
    per_device_batch_size="${PER_DEVICE_BATCH_SIZE}"\
    ici_data_parallelism="${ICI_DATA_PARALLELISM}" ici_fsdp_parallelism="${ICI_FSDP_PARALLELISM}" ici_tensor_parallelism="${ICI_TENSOR_PARALLELISM}"\
    remat_policy="${REMAT_POLICY}"\
    attention="flash" \
    quantization=int8\
    dataset_type=synthetic\
    compile_topology="${COMPILE_TOPOLOGY}"\
    compile_topology_num_slices="${COMPILE_TOPOLOGY_NUM_SLICES}"
else
  python3 -m maxtext.trainers.pre_train."$EXECUTABLE" "${MAXTEXT_CONFIGS_DIR:-${MAXTEXT_REPO_ROOT:-$PWD}/src/maxtext/configs}"/base.yml run_name="${RUNNAME}" model_name=gpt3-175b\
    base_output_directory="${BASE_OUTPUT_DIRECTORY}"\
    enable_checkpointing=false async_checkpointing=false\
    steps=20\
    per_device_batch_size="${PER_DEVICE_BATCH_SIZE}"\
    ici_data_parallelism="${ICI_DATA_PARALLELISM}" ici_fsdp_parallelism="${ICI_FSDP_PARALLELISM}" ici_tensor_parallelism="${ICI_TENSOR_PARALLELISM}"\
    remat_policy="${REMAT_POLICY}"\
    attention="flash" \
    quantization=int8\
    dataset_type=synthetic
fi
