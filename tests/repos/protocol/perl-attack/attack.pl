# An attack without Python and without the SDK: brightens each image step by step until the label changes.
# It uses perl-base alone. The frames are described in docs/protocol.md.
use strict;
use warnings;
use Socket;

my ($HELLO, $QUERY, $FINISH, $PIECE, $BYE) = (1, 2, 3, 17, 21);
my $EXHAUSTED = -2;

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

# Only payloads are needed: an attack knows what it asked. V V is the sequence number, low half first.
sub receive {
    my ($length, $type, $count) = unpack 'V v v V V', exactly(16);
    return ($type, $count, exactly($length));
}

sub send_frame {
    my ($type, $count, $sequence, $payload) = @_;
    my $frame = pack('V v v V V', length $payload, $type, $count, $sequence, 0) . $payload;
    while (length $frame) {
        my $sent = syswrite($referee, $frame) or exit 0;
        substr($frame, 0, $sent) = '';
    }
}

send_frame($HELLO, 0, 0, pack('a4 v v', 'GNTL', 1, 2));    # role 2 = attack
my (undef, undef, $welcome) = receive();
my (undef, undef, $height, $width, $channels) = unpack 'v5', $welcome;
my $size     = $height * $width * $channels;
my $sequence = 0;                                           # 1, 2, 3 ... over all pieces

while (1) {
    my ($type, $count, $piece) = receive();
    exit 0 if $type == $BYE;
    for my $i (0 .. $count - 1) {
        my ($number, $label, $target) = unpack 'v s< s<', substr($piece, 16 + 8 * $i, 6);
        my @clean = unpack 'C*', substr($piece, 16 + 8 * $count + $size * $i, $size);
        for (my $step = 0; $step < 256; $step += 8) {
            my $image = pack 'C*', map { $_ + $step > 255 ? 255 : $_ + $step } @clean;
            send_frame($QUERY, 1, ++$sequence, pack('v', $number) . $image);
            my $answer = unpack 's<', (receive())[2];
            last if $answer == $EXHAUSTED || $answer == -1 || ($target < 0 ? $answer != $label : $answer == $target);
        }
    }
    # FINISH: every sample with status 0; the referee has kept the closest adversarial of each
    send_frame($FINISH, $count, ++$sequence, join '', map { pack 'v v', unpack('v', substr($piece, 16 + 8 * $_, 2)), 0 } 0 .. $count - 1);
}
