"""The ends of the systems that Python has bindings of.

    bindings.py SYSTEM send PORT       sends an event for each line on standard input
    bindings.py SYSTEM receive PORT    reports the events that arrive

SYSTEM is `zenoh` or `cyclonedds`. PORT, of 127.0.0.1, is where Zenoh's receiver listens; Cyclone DDS has ports of its
own. An event holds its number and the time of the call that sends it, in nanoseconds since 1970, in 27 bytes.
"""

import os
import sys
import time


def say_ready():
    os.write(1, b"{}\n")


def event(number):
    return b"%6d %19d\0" % (number, time.time_ns())


def report(content, at):
    number, sent = content.rstrip(b"\0").split()
    os.write(1, b'{"number":%d,"sent":%d,"at":%d}\n' % (int(number), int(sent), at))


def numbers():
    while line := os.read(0, 64):
        yield int(line)


def zenoh(is_receiver, port):
    """Two peers over TCP, without batches and without multicast."""
    import json

    import zenoh

    config = zenoh.Config()
    address = json.dumps([f"tcp/127.0.0.1:{port}"])
    config.insert_json5("mode", '"peer"')
    config.insert_json5("scouting/multicast/enabled", "false")
    config.insert_json5("listen/endpoints", address if is_receiver else "[]")
    config.insert_json5("connect/endpoints", "[]" if is_receiver else address)
    session = zenoh.open(config)
    if is_receiver:
        session.declare_subscriber("benchmark", lambda sample: report(bytes(sample.payload), time.time_ns()))
        say_ready()
        while True:
            time.sleep(60)
    publisher = session.declare_publisher(
        "benchmark", express=True, priority=zenoh.Priority.REAL_TIME, reliability=zenoh.Reliability.RELIABLE)
    while not publisher.matching_status.matching:
        time.sleep(0.05)
    say_ready()
    for number in numbers():
        publisher.put(event(number))
    session.close()


def cyclonedds(is_receiver, port):
    """Two participants, best effort, on loopback without multicast."""
    os.environ["CYCLONEDDS_URI"] = """
        <General>
            <Interfaces><NetworkInterface name="lo" multicast="false"/></Interfaces>
            <AllowMulticast>false</AllowMulticast>
        </General>
        <Discovery>
            <ParticipantIndex>auto</ParticipantIndex>
            <Peers><Peer address="127.0.0.1"/></Peers>
        </Discovery>"""
    from dataclasses import dataclass

    from cyclonedds.core import InstanceState, Qos, Policy, ReadCondition, SampleState, ViewState, WaitSet
    from cyclonedds.domain import DomainParticipant
    from cyclonedds.idl import IdlStruct
    from cyclonedds.idl.types import array, uint8
    from cyclonedds.pub import DataWriter
    from cyclonedds.sub import DataReader
    from cyclonedds.topic import Topic
    from cyclonedds.util import duration

    @dataclass
    class Event(IdlStruct, typename="Event"):
        content: array[uint8, 27]

    participant = DomainParticipant(0)
    qos = Qos(Policy.Reliability.BestEffort, Policy.History.KeepLast(1))
    topic = Topic(participant, "benchmark", Event, qos=qos)
    if is_receiver:
        reader = DataReader(participant, topic, qos=qos)
        arrival = WaitSet(participant)
        arrival.attach(ReadCondition(reader, ViewState.Any | InstanceState.Alive | SampleState.NotRead))
        say_ready()
        while True:
            if arrival.wait(duration(seconds=60)):
                samples = reader.take()
                at = time.time_ns()
                for sample in samples:
                    if isinstance(sample, Event):
                        report(bytes(sample.content), at)
    writer = DataWriter(participant, topic, qos=qos)
    while not writer.get_matched_subscriptions():
        time.sleep(0.05)
    say_ready()
    for number in numbers():
        writer.write(Event(list(event(number))))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    system = {"zenoh": zenoh, "cyclonedds": cyclonedds}[sys.argv[1]]
    system(sys.argv[2] == "receive", int(sys.argv[3]))
