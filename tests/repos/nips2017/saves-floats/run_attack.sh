#!/bin/bash

INPUT_DIR=$1
OUTPUT_DIR=$2

python attack.py \
  --input_dir="${INPUT_DIR}" \
  --output_dir="${OUTPUT_DIR}"
