import contextlib
import gc
import socket

import pytest
from agent_runtime.errors import SettingsError
from agent_runtime.server import bind, forget_what_stays


def test_port_0_is_a_free_one() -> None:
    with contextlib.closing(bind("127.0.0.1", 0)) as listener:
        assert listener.getsockname()[1] > 0


def test_a_bound_socket_takes_connections_at_once() -> None:
    with contextlib.closing(bind("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        pass


def test_a_port_in_use_is_a_clear_error() -> None:
    with contextlib.closing(bind("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(SettingsError, match=f"cannot listen on 127.0.0.1 port {port}: another program uses it"):
            bind("127.0.0.1", port)


def test_an_address_that_is_not_ours_is_a_clear_error() -> None:
    with pytest.raises(SettingsError, match=r"cannot listen on 192\.0\.2\.1 port 0: cannot assign"):
        bind("192.0.2.1", 0)


def test_what_is_there_at_the_start_is_no_longer_looked_at_for_garbage() -> None:
    try:
        forget_what_stays()
        assert gc.get_freeze_count() > 10_000
        assert len(gc.get_objects()) < 1_000
    finally:
        gc.unfreeze()
