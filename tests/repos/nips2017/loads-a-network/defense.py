import argparse
import os

import numpy as np
from scipy.ndimage import imread

parser = argparse.ArgumentParser()
parser.add_argument('--input_dir')
parser.add_argument('--output_file')
parser.add_argument('--checkpoint_path')
parser.add_argument('--unused_path')


def main():
    args = parser.parse_args()
    weights = np.load(args.checkpoint_path).item()['label']
    with open(args.output_file, 'w') as out_file:
        for name in os.listdir(args.input_dir):
            imread(os.path.join(args.input_dir, name), mode='RGB')
            out_file.write('{0},{1}\n'.format(name, weights))


if __name__ == '__main__':
    main()
