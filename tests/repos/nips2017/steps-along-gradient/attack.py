import csv
import os
import sys

import numpy as np
import torch
from PIL import Image
from scipy.misc import imsave
from torch.autograd import Variable
from torch.autograd.gradcheck import zero_gradients
from torch.utils.data import DataLoader


class Network(torch.nn.Module):
    def __init__(self):
        super(Network, self).__init__()
        self.layer = torch.nn.Linear(8 * 8 * 3, 10)

    def forward(self, x):
        return self.layer(x.permute(0, 2, 3, 1).view(x.size(0), -1))


def main():
    input_dir, output_dir, eps = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with open(os.path.join(input_dir, 'target_class.csv')) as f:
        rows = list(csv.reader(f))
    images = [np.array(Image.open(os.path.join(input_dir, name)).convert('RGB')) for name, _ in rows]
    targets = [int(target) - 1 for _, target in rows]
    network = Network().cuda()
    network.eval()
    iterator = iter(DataLoader(np.stack(images), batch_size=10))
    inputs = iterator.next().float().div_(255)
    inputs.permute_(0, 3, 1, 2)
    var = Variable(inputs.cuda(), requires_grad=True)
    for _ in range(2):
        zero_gradients(var)
        loss = torch.nn.CrossEntropyLoss().cuda()(network(var), Variable(torch.LongTensor(targets).cuda()))
        loss.backward()
        print('loss: %.4f' % loss.data[0])
        var.data = var.data - eps / 510.0 * torch.sign(var.grad.data)
    for (name, _), image in zip(rows, torch.clamp(var.data, 0, 1).permute(0, 2, 3, 1).cpu().numpy()):
        imsave(os.path.join(output_dir, name), np.round(255 * image).astype(np.uint8), format='png')


if __name__ == '__main__':
    main()
