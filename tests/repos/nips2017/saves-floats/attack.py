from __future__ import absolute_import
from __future__ import print_function

import argparse
import os

import numpy as np
from scipy.misc import imread
from scipy.misc import imsave

from helpers import names_of


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--input_dir')
    parser.add_argument('--output_dir')
    args = parser.parse_args()
    for name in names_of(args.input_dir):
        with open(os.path.join(args.input_dir, name), 'rb') as f:
            image = imread(f, mode='RGB').astype(np.float) / 255.0
        with open(os.path.join(args.output_dir, name), 'wb') as f:
            imsave(f, image, format='png')


if __name__ == '__main__':
    main()
