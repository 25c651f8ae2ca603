#!/bin/bash
#
# run_defense.sh is a script which executes the defense; python never-there.py is only named here

INPUT_DIR=$1
OUTPUT_FILE=$2

python defense.py \
  --input_dir="${INPUT_DIR}" \
  --output_file="${OUTPUT_FILE}" \
  --checkpoint_path=weights.npy \
  --unused_path=unused.ckpt
