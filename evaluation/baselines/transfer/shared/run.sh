#!/bin/sh
exec python main.py "$@"
