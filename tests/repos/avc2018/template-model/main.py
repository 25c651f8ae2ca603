from adversarial_vision_challenge import model_server


class Model(object):
    def channel_axis(self):
        return 1

    def bounds(self):
        return (0, 255)

    def predictions(self, image):
        assert image.shape[0] == 3 and str(image.dtype) == 'float32'
        return min(int(image.mean() / 25.6), 9)


if __name__ == '__main__':
    model_server(Model())
