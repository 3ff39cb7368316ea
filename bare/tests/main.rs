//! The image: in a virtual machine, and its loops beside those of a program for Linux.

mod disk;
mod fat;
mod image;
mod loops;
mod preemption;
