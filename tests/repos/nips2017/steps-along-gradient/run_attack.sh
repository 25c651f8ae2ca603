#!/bin/bash
python attack.py $1 $2 $3
