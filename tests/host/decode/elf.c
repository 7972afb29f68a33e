// SPDX-License-Identifier: MIT
/*
 * The executable sections of an ELF64 file of either byte order.
 */
#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "referee.h"

static bool swapped;

static u64 host64(u64 v)
{
	return swapped ? __builtin_bswap64(v) : v;
}

static u32 host32(u32 v)
{
	return swapped ? __builtin_bswap32(v) : v;
}

static u16 host16(u16 v)
{
	return swapped ? __builtin_bswap16(v) : v;
}

static const u8 *map_file(const char *path, size_t *size)
{
	struct stat stat;
	int fd = open(path, O_RDONLY);
	void *map;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &stat) || stat.st_size < (off_t)sizeof(Elf64_Ehdr)) {
		close(fd);
		return NULL;
	}
	map = mmap(NULL, stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	*size = stat.st_size;
	return map == MAP_FAILED ? NULL : map;
}

int elf_open(struct elf_file *elf, const char *path)
{
	size_t size = 0;
	const u8 *file = map_file(path, &size);
	const Elf64_Ehdr *eh = (const void *)file;
	const Elf64_Shdr *sh;
	const char *names;

	*elf = (struct elf_file){ .path = path };
	if (!file)
		return -ENOENT;
	if (memcmp(eh->e_ident, ELFMAG, SELFMAG) ||
	    eh->e_ident[EI_CLASS] != ELFCLASS64)
		return -EINVAL;
	elf->big_endian = eh->e_ident[EI_DATA] == ELFDATA2MSB;
	swapped = elf->big_endian != (BYTE_ORDER == BIG_ENDIAN);
	if (host16(eh->e_machine) != machine.elf_machine)
		return -EINVAL;
	sh = (const void *)(file + host64(eh->e_shoff));
	names = (const char *)file +
		host64(sh[host16(eh->e_shstrndx)].sh_offset);
	for (unsigned i = 0; i < host16(eh->e_shnum); i++, sh++) {
		if (host32(sh->sh_type) != SHT_PROGBITS ||
		    !(host64(sh->sh_flags) & SHF_EXECINSTR) || elf->count == 64)
			continue;
		elf->code[elf->count++] = (struct code){
			.section = names + host32(sh->sh_name),
			.bytes = file + host64(sh->sh_offset),
			.size = host64(sh->sh_size),
			.va = host64(sh->sh_addr),
		};
	}
	return 0;
}
