// Memory for a program whose C library asks the operating system for a few pages at a time and gives them back at once:
// out of large pages, and kept for the next time. A page that is new costs the operating system longer than to clear
// it.
#pragma once
#include <stddef.h>

namespace launcher {

// Reserves the room; without room, nothing is ever taken from it.
void OpenArena();

// So many bytes of zeros, at a multiple of a page; null where the operating system has to be asked.
void* TakePages(size_t bytes);

// Takes pages back. False when they are not from here.
bool GivePages(void* address, size_t bytes);

}  // namespace launcher
