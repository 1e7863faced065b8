; The memory of arrays and lists that kernels make: a head of 48 bytes, which counts
; references, and the items: behind it, or elsewhere if there may come to be more.
; The layout of the head is Numba's, whose code for counting is linked to this.

%head = type { i64, ptr, ptr, ptr, i64, ptr }  ; count, end, of items, items, size, -

declare ptr @malloc(i64)
declare ptr @realloc(ptr, i64)
declare void @free(ptr)
declare { i64, i1 } @llvm.uadd.with.overflow.i64(i64, i64)

; Arrays

define ptr @NRT_MemInfo_alloc_safe_aligned(i64 %size, i32 %align) {
  %wide = zext i32 %align to i64
  %more = add i64 %wide, 48
  %sum = call { i64, i1 } @llvm.uadd.with.overflow.i64(i64 %size, i64 %more)
  %nbytes = extractvalue { i64, i1 } %sum, 0
  %beyond = extractvalue { i64, i1 } %sum, 1
  br i1 %beyond, label %failed, label %take
take:
  %memory = call ptr @malloc(i64 %nbytes)
  %none = icmp eq ptr %memory, null
  br i1 %none, label %failed, label %fill
fill:
  %number = ptrtoint ptr %memory to i64
  %past = add i64 %number, %more
  %mask = sub i64 0, %wide
  %place = and i64 %past, %mask
  %items = inttoptr i64 %place to ptr
  call void @fill(ptr %memory, ptr %items, i64 %size)
  ret ptr %memory
failed:
  ret ptr null
}

define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %memory = call ptr @NRT_MemInfo_alloc_safe_aligned(i64 %size, i32 %align)
  ret ptr %memory
}

define ptr @NRT_MemInfo_alloc(i64 %size) {
  %memory = call ptr @NRT_MemInfo_alloc_safe_aligned(i64 %size, i32 16)
  ret ptr %memory
}

define internal void @fill(ptr %memory, ptr %items, i64 %size) {
  %end = getelementptr %head, ptr %memory, i32 0, i32 1
  %of_items = getelementptr %head, ptr %memory, i32 0, i32 2
  %data = getelementptr %head, ptr %memory, i32 0, i32 3
  %length = getelementptr %head, ptr %memory, i32 0, i32 4
  %last = getelementptr %head, ptr %memory, i32 0, i32 5
  store i64 1, ptr %memory
  store ptr null, ptr %end
  store ptr null, ptr %of_items
  store ptr %items, ptr %data
  store i64 %size, ptr %length
  store ptr null, ptr %last
  ret void
}

; Lists, which grow

define ptr @NRT_MemInfo_new_varsize_dtor(i64 %size, ptr %of_items) {
  %items = call ptr @malloc(i64 %size)
  %memory = call ptr @malloc(i64 48)
  %no_items = icmp eq ptr %items, null
  %no_head = icmp eq ptr %memory, null
  %none = or i1 %no_items, %no_head
  br i1 %none, label %failed, label %take
take:
  call void @fill(ptr %memory, ptr %items, i64 %size)
  %end = getelementptr %head, ptr %memory, i32 0, i32 1
  %info = getelementptr %head, ptr %memory, i32 0, i32 2
  store ptr @end_list, ptr %end
  store ptr %of_items, ptr %info
  ret ptr %memory
failed:
  call void @free(ptr %items)
  call void @free(ptr %memory)
  ret ptr null
}

define ptr @NRT_MemInfo_new_varsize(i64 %size) {
  %memory = call ptr @NRT_MemInfo_new_varsize_dtor(i64 %size, ptr null)
  ret ptr %memory
}

define ptr @NRT_MemInfo_varsize_realloc(ptr %memory, i64 %size) {
  %data = getelementptr %head, ptr %memory, i32 0, i32 3
  %length = getelementptr %head, ptr %memory, i32 0, i32 4
  %before = load ptr, ptr %data
  %items = call ptr @realloc(ptr %before, i64 %size)
  %none = icmp eq ptr %items, null
  br i1 %none, label %failed, label %grown
grown:
  store ptr %items, ptr %data
  store i64 %size, ptr %length
  ret ptr %items
failed:
  ret ptr null
}

define internal void @end_list(ptr %items, i64 %size, ptr %of_items) {
  %plain = icmp eq ptr %of_items, null
  br i1 %plain, label %done, label %each
each:
  call void %of_items(ptr %items)
  br label %done
done:
  call void @free(ptr %items)
  ret void
}

; Room for a slice that is assigned to one which may overlap it

define ptr @NRT_Allocate(i64 %size) {
  %memory = call ptr @malloc(i64 %size)
  ret ptr %memory
}

define void @NRT_Free(ptr %memory) {
  call void @free(ptr %memory)
  ret void
}

; The last reference is gone

define void @NRT_MemInfo_call_dtor(ptr %memory) {
  %place = getelementptr %head, ptr %memory, i32 0, i32 1
  %end = load ptr, ptr %place
  %plain = icmp eq ptr %end, null
  br i1 %plain, label %done, label %list
list:
  %of_items = getelementptr %head, ptr %memory, i32 0, i32 2
  %data = getelementptr %head, ptr %memory, i32 0, i32 3
  %length = getelementptr %head, ptr %memory, i32 0, i32 4
  %info = load ptr, ptr %of_items
  %items = load ptr, ptr %data
  %size = load i64, ptr %length
  call void %end(ptr %items, i64 %size, ptr %info)
  br label %done
done:
  call void @free(ptr %memory)
  ret void
}
