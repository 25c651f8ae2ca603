# A model without Python and without the SDK: the label is the mean brightness of the image.
# It uses perl-base alone. The frames are described in docs/protocol.md.
use strict;
use warnings;
use Socket;

my ($HELLO, $LABELS, $WELCOME, $PREDICT, $BYE) = (1, 4, 16, 19, 21);

# Connect once to the socket file whose path the referee gives.
socket(my $referee, PF_UNIX, SOCK_STREAM, 0) or die "socket: $!";
connect($referee, sockaddr_un($ENV{GAUNTLET_SOCKET})) or die "connect: $!";
binmode $referee;

# Read exactly $size bytes. The end of the stream is the end of the match.
sub exactly {
    my ($size) = @_;
    my $bytes = '';
    while (length $bytes < $size) {
        sysread($referee, $bytes, $size - length $bytes, length $bytes) or exit 0;
    }
    return $bytes;
}

# One frame. V is u32, v is u16, little-endian; the sequence number is only echoed, so it stays 8 raw bytes.
sub receive {
    my ($length, $type, $count, $sequence) = unpack 'V v v a8', exactly(16);
    return ($type, $count, $sequence, exactly($length));
}

sub send_frame {
    my ($type, $count, $sequence, $payload) = @_;
    my $frame = pack('V v v a8', length $payload, $type, $count, $sequence) . $payload;
    while (length $frame) {
        my $sent = syswrite($referee, $frame) or exit 0;
        substr($frame, 0, $sent) = '';
    }
}

# Set-up is done: say so (protocol version 1, role 1 = model) and learn the shape of images.
send_frame($HELLO, 0, "\0" x 8, pack('a4 v v', 'GNTL', 1, 1));
my ($type, undef, undef, $welcome) = receive();
die "no WELCOME but a frame of type $type" if $type != $WELCOME;
my (undef, undef, $height, $width, $channels, $classes) = unpack 'v6', $welcome;
my $size = $height * $width * $channels;

while (1) {
    my ($type, $count, $sequence, $images) = receive();
    exit 0 if $type == $BYE;
    die "a frame of type $type" if $type != $PREDICT;
    # '%32C*' is the sum of the bytes; 256 levels of brightness are spread over the classes
    my @labels = map { int(unpack('%32C*', substr($images, $_ * $size, $size)) * $classes / ($size * 256)) } 0 .. $count - 1;
    send_frame($LABELS, $count, $sequence, pack 's<*', @labels);
}
