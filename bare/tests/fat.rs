//! A small disk with a FAT16 file system, made by hand so that it has exactly as much free space as a test needs.

/// Size of a sector, and of a cluster.
pub(crate) const CLUSTER: usize = 512;
/// Fewer clusters would be FAT12.
const CLUSTERS: usize = 5_000;
const SECTORS_OF_TABLE: usize = (CLUSTERS + 2) * 2 / CLUSTER + 1;
const ROOT_ENTRIES: usize = 512;
const ROOT: usize = (1 + SECTORS_OF_TABLE) * CLUSTER;
const DATA: usize = ROOT + ROOT_ENTRIES * ENTRY;
const ENTRY: usize = 32;
const IS_DIRECTORY: u8 = 0x10;

/// The disk as bytes.
pub(crate) struct Fat {
    bytes: Vec<u8>,
    /// The first cluster that is free.
    free: usize,
}

impl Fat {
    /// Makes an empty file system.
    pub(crate) fn new() -> Self {
        let mut bytes = vec![0; DATA + CLUSTERS * CLUSTER];
        let sectors = (bytes.len() / CLUSTER) as u16;
        bytes[..3].copy_from_slice(&[0xeb, 0x3c, 0x90]);
        bytes[3..11].copy_from_slice(b"ANECHOIC");
        // One sector in a cluster, one table, a disk that is not removable, a serial number.
        for (at, byte) in [(13, 1), (16, 1), (21, 0xf8), (36, 0x80), (38, 0x29)] {
            bytes[at] = byte;
        }
        let numbers = [
            (11, CLUSTER as u16),
            (14, 1), // reserved sectors
            (17, ROOT_ENTRIES as u16),
            (19, sectors),
            (22, SECTORS_OF_TABLE as u16),
            (24, 32),
            (26, 2),
        ];
        for (at, number) in numbers {
            bytes[at..at + 2].copy_from_slice(&number.to_le_bytes());
        }
        bytes[54..62].copy_from_slice(b"FAT16   ");
        bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
        let mut fat = Fat { bytes, free: 2 };
        fat.link(0, 0xfff8);
        fat.link(1, 0xffff);
        fat
    }

    fn link(&mut self, cluster: usize, next: u16) {
        let at = CLUSTER + 2 * cluster;
        self.bytes[at..at + 2].copy_from_slice(&next.to_le_bytes());
    }

    fn at(cluster: usize) -> usize {
        DATA + (cluster - 2) * CLUSTER
    }

    /// Stores this in clusters of its own and returns the first.
    fn store(&mut self, content: &[u8]) -> usize {
        let (first, count) = (self.free, content.len().div_ceil(CLUSTER).max(1));
        self.free += count;
        assert!(self.free <= CLUSTERS + 2, "the disk is too small");
        for cluster in first..self.free {
            let next = if cluster + 1 == self.free { 0xffff } else { cluster as u16 + 1 };
            self.link(cluster, next);
        }
        self.bytes[Self::at(first)..][..content.len()].copy_from_slice(content);
        first
    }

    /// Adds an entry to the directory whose entries begin here.
    fn enter(&mut self, directory: usize, name: &[u8; 11], kind: u8, first: usize, bytes: usize) {
        let free =
            (directory..).step_by(ENTRY).find(|at| self.bytes[*at] == 0).expect("a free entry");
        let entry = &mut self.bytes[free..free + ENTRY];
        entry[..11].copy_from_slice(name);
        entry[11] = kind;
        entry[26..28].copy_from_slice(&(first as u16).to_le_bytes());
        entry[28..32].copy_from_slice(&(bytes as u32).to_le_bytes());
    }

    /// Adds a file to the root directory.
    pub(crate) fn file(&mut self, name: &[u8; 11], content: &[u8]) {
        let first = self.store(content);
        self.enter(ROOT, name, 0x20, first, content.len());
    }

    /// Adds the image where the firmware looks for it: `EFI/BOOT/BOOTX64.EFI`.
    pub(crate) fn bootable(&mut self, image: &[u8]) {
        let mut directory = ROOT;
        for name in [b"EFI        ", b"BOOT       "] {
            let first = self.store(&[]);
            self.enter(directory, name, IS_DIRECTORY, first, 0);
            directory = Self::at(first);
        }
        let first = self.store(image);
        self.enter(directory, b"BOOTX64 EFI", 0x20, first, image.len());
    }

    /// Fills the disk but for this number of clusters.
    pub(crate) fn fill(&mut self, free: usize) {
        let content = vec![b'x'; (CLUSTERS + 2 - self.free - free) * CLUSTER];
        self.file(b"FILLER  BIN", &content);
    }

    /// Returns the disk.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Returns a file of the root directory of such a disk.
pub(crate) fn read(disk: &[u8], name: &[u8; 11]) -> Option<Vec<u8>> {
    let number = |at: usize| usize::from(u16::from_le_bytes([disk[at], disk[at + 1]]));
    let mut entries = (ROOT..DATA).step_by(ENTRY);
    let entry = entries.find(|at| &disk[*at..at + 11] == name)?;
    let bytes = u32::from_le_bytes(disk[entry + 28..entry + 32].try_into().ok()?) as usize;
    let (mut cluster, mut content) = (number(entry + 26), vec![]);
    while (2..CLUSTERS + 2).contains(&cluster) {
        content.extend(&disk[Fat::at(cluster)..][..CLUSTER]);
        cluster = number(CLUSTER + 2 * cluster);
    }
    assert!(content.len() >= bytes, "the file has fewer clusters than bytes");
    content.truncate(bytes);
    Some(content)
}
