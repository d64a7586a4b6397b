# SPDX-License-Identifier: Apache-2.0
"""The connection of an IMD server with a viewer, in a thread.

One viewer at a time; others are turned away.  All input and output is in this thread, so neither a
slow viewer nor a malicious one delays anything else: frames wait here until they are sent.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from .imd_packets import Kind, ProtocolError, Request, RequestReader, Session

_LOOK_ROUND = 0.1  # s
_GO = 5.0  # s: for the first request; the protocol has 1 s, in which large systems are not prepared
_STUCK = 600.0  # s without progress while a frame is being sent, as imdclient waits
_PIECE = 2**16  # bytes
_SILENT = 1.0  # s of the end that need no message


class Link:
    """Serves viewers until it is closed.

    Parameters
    ----------
    listener:
        Listening socket.
    session:
        The content of the frames.
    receive:
        Called in the thread with each request of a viewer; `None` when it is gone.
    tell:
        Called with what happens, in words.
    """

    def __init__(
        self,
        listener: socket.socket,
        session: Session,
        receive: Callable[[Request | None], None],
        tell: Callable[[str], object],
    ) -> None:
        self._listener, self._session = listener, session
        self._receive, self._tell = receive, tell
        self._frames: deque[memoryview] = deque()
        self._lock = threading.Lock()
        self._wake, self._woken = socket.socketpair()
        for one in (listener, self._wake, self._woken):
            one.setblocking(False)
        self._viewer: socket.socket | None = None
        self._is_live = False  # it has said GO
        self._since = 0.0  # when it connected, or a byte of a frame was last sent
        self._error: Exception | None = None
        self._end: float | None = None  # when a link that is being closed gives up
        self._thread = threading.Thread(target=self._serve, name="quiltmd-imd", daemon=True)
        self._thread.start()

    @property
    def is_live(self) -> bool:
        """Whether a viewer receives frames."""
        return self._is_live

    @property
    def backlog(self) -> int:
        """Frames that are not completely sent."""
        return len(self._frames)

    def send(self, frame: bytes) -> None:
        """Has a frame sent after those before it; dropped if there is no viewer."""
        with self._lock:
            if not self._is_live:
                return
            if not self._frames:
                self._since = time.monotonic()
            self._frames.append(memoryview(frame))
        self._notify()

    def close(self, seconds: float) -> None:
        """Sends the remaining frames for at most `seconds`, and ends."""
        self._end = time.monotonic() + seconds
        self._notify()
        self._thread.join(_SILENT)
        if self._thread.is_alive():
            self._tell(f"waiting up to {seconds:g} s for the viewer to receive the last frames")
        self._thread.join()

    def _notify(self) -> None:
        with suppress(OSError):  # it is full, or closed after the thread has ended
            self._wake.send(b"\0")

    def check(self) -> None:
        """Raises the error that ended the thread, if one did."""
        if self._error is not None:
            raise self._error

    def _serve(self) -> None:
        with self._listener, self._wake, self._woken:
            try:
                while not self._is_over():
                    self._turn()
                self._drop("")
            except Exception as error:  # of `tell` or `receive`
                self._error = error
                self._is_live = False

    def _is_over(self) -> bool:
        """Whether to end: all is sent, or the time for it is up."""
        if self._end is None:
            return False
        return not self._is_live or not self._frames or time.monotonic() >= self._end

    def _turn(self) -> None:
        """Waits for input or room for output, for a short time."""
        read = [self._listener, self._woken]
        viewer = self._viewer
        if viewer is not None:
            read.append(viewer)
        write = [viewer] if viewer is not None and self._frames else []
        readable, writable, _ = select.select(read, write, [], _LOOK_ROUND)
        if self._woken in readable:
            self._woken.recv(_PIECE)
        if self._listener in readable:
            self._accept()
        if viewer is None:
            return
        try:
            if viewer in readable:
                self._read(viewer)
            if viewer in writable and viewer is self._viewer:
                self._write(viewer)
            self._refuse_if_late()
        except (ProtocolError, OSError) as error:
            self._drop(getattr(error, "strerror", None) or str(error))

    def _accept(self) -> None:
        with suppress(OSError):
            viewer, _ = self._listener.accept()
            if self._viewer is None and self._end is None and self._greet(viewer):
                self._viewer, self._since = viewer, time.monotonic()
                self._reader = RequestReader(self._session)
            else:
                viewer.close()

    def _greet(self, viewer: socket.socket) -> bool:
        """Sends the first packets; whether the viewer is still there."""
        try:
            viewer.setblocking(False)
            viewer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            viewer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            viewer.send(self._session.greeting())  # far less than a socket takes at once
        except OSError:
            return False
        return True

    def _read(self, viewer: socket.socket) -> None:
        data = viewer.recv(_PIECE)
        if not data:
            self._drop("it has closed the connection")
            return
        for request in self._reader.feed(data):
            if not self._is_live and request.kind != Kind.GO:
                raise ProtocolError(f"it sent {request.kind.name} before GO")
            if request.kind in (Kind.DISCONNECT, Kind.IO_ERROR):
                self._drop("it has disconnected")
                return
            if request.kind == Kind.GO:
                self._is_live = True
                self._tell("a viewer is connected")
            self._receive(request)

    def _write(self, viewer: socket.socket) -> None:
        with self._lock:
            sent = viewer.send(self._frames[0][:_PIECE])
            self._since = time.monotonic()
            self._frames[0] = self._frames[0][sent:]
            if not self._frames[0]:
                self._frames.popleft()

    def _refuse_if_late(self) -> None:
        since = time.monotonic() - self._since
        if self._viewer is not None and not self._is_live and since > _GO:
            raise ProtocolError(f"it did not send GO within {_GO:g} s")
        if self._is_live and self._frames and since > _STUCK:
            raise ProtocolError(f"it read nothing for {_STUCK:g} s")

    def _drop(self, why: str) -> None:
        """Ends the connection; `why` in words, empty at the end of the run."""
        viewer, was_live = self._viewer, self._is_live
        if viewer is None:
            return
        with self._lock:
            self._viewer, self._is_live = None, False
            self._frames.clear()
        with viewer, suppress(OSError):
            viewer.shutdown(socket.SHUT_WR)
            self._await_end(viewer)
        if was_live:
            self._receive(None)
        if why:
            self._tell(f"a viewer is gone: {why}")

    def _await_end(self, viewer: socket.socket) -> None:
        """Reads until the viewer closes: unread bytes would discard what it has not read yet."""
        while self._end is not None and (left := self._end - time.monotonic()) > 0:
            viewer.settimeout(left)
            if not viewer.recv(_PIECE):
                return
